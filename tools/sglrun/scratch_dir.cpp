#include "sglrun/scratch_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sgl::run {

Result<std::string> make_scratch_dir() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/sglrun.XXXXXX", parent && *parent ? parent : "/tmp");
  if (mkdtemp(path.data())) return path;  // with mode 0700
  return error(SGLCOLL_ERR_SYSTEM,
               "cannot make a directory {} ({}): set TMPDIR to where this user may write", path,
               strerror(errno));
}

void remove_scratch_dir(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace sgl::run
