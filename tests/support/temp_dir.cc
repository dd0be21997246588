// SPDX-License-Identifier: Apache-2.0
#include "temp_dir.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace oncemq::testing {

TempDir::TempDir() : TempDir(std::filesystem::temp_directory_path()) {}

std::filesystem::path TempDir::Quick() {
  constexpr uintmax_t kRoom = uintmax_t{1} << 30;
  const std::filesystem::path memory = "/dev/shm";
  std::error_code failed;
  const auto space = std::filesystem::space(memory, failed);
  return !failed && space.available >= kRoom && access(memory.c_str(), W_OK) == 0
             ? memory
             : std::filesystem::temp_directory_path();
}

TempDir::TempDir(const std::filesystem::path& under) {
  std::string name = (under / "oncemq-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory like " + name);
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a file that stays in a temporary directory fails no test
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace oncemq::testing
