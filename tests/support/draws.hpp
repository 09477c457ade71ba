// How much of its cases a test runs: all, or a part under a sanitizer, which makes a case 5
// to 50 times slower and finds its faults in a part of them already, as all run the same code.
#pragma once

#include <cstdint>

namespace sgl::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kDrawsDivisor = 10;
inline constexpr uint64_t kCasesDivisor =
    7;  // prime, so that each value of nested loops has a turn
#else
inline constexpr int kDrawsDivisor = 1;
inline constexpr uint64_t kCasesDivisor = 1;
#endif

// How many random cases to draw.
constexpr int draws(int cases) {
  return cases < kDrawsDivisor ? 1 : cases / kDrawsDivisor;
}

// Which cases of nested loops to run, asked once for each; a phase of its own gives each walk
// over the same cases another part of them. Walks of several ranks that are alike agree.
class CaseSampler {
 public:
  explicit CaseSampler(uint64_t phase = 0) : next_(phase) {}
  bool take() { return next_++ % kCasesDivisor == 0; }

 private:
  uint64_t next_;
};

}  // namespace sgl::test
