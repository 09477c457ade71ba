// The outcome of an operation: a code of the C API and, on failure, a text that
// names the argument, its value and what would be right.
#pragma once

#include <sglcoll/sglcoll.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace sgl {

using Code = sglcoll_status;

// Success costs one null pointer; only a failure allocates.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : failure_(new Failure{code, std::move(text)}) {}

  bool ok() const { return failure_ == nullptr; }
  Code code() const { return failure_ ? failure_->code : SGLCOLL_OK; }
  const std::string& text() const {
    static const std::string none;
    return failure_ ? failure_->text : none;
  }
  Status copy() const { return failure_ ? Status(failure_->code, failure_->text) : Status(); }

 private:
  struct Failure {
    Code code;
    std::string text;
  };
  std::unique_ptr<Failure> failure_;
};

template <class... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

// A value or the failure that kept it from being made.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Result(Status failure) : status_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }
  Status& status() { return status_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Returns from the enclosing function when `expression` (a Status) failed.
#define SGL_TRY(expression)                                                  \
  do {                                                                       \
    if (::sgl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

}  // namespace sgl
