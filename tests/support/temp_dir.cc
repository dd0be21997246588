// SPDX-License-Identifier: Apache-2.0
#include "temp_dir.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace oncemq::testing {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "oncemq-test-XXXXXX").string();
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
