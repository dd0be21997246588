// SPDX-License-Identifier: Apache-2.0
#include "work_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace oncemq::demo {

Result<std::unique_ptr<WorkDir>> WorkDir::Make(bool keep) {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  std::string name = (parent / "oncemq-demo-XXXXXX").string();
  if (failed || mkdtemp(name.data()) == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "no directory like " + name + ": " + std::strerror(errno)};
  }
  return std::unique_ptr<WorkDir>(new WorkDir(name, keep));
}

WorkDir::~WorkDir() {
  if (!keep_) {
    std::error_code ignored;  // what stays in a temporary directory harms nobody
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace oncemq::demo
