// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace oncemq::testing {

// A new, empty directory that is removed with everything in it when the object goes. A test that is
// killed leaves it behind. Throws std::runtime_error when the directory can't be made.
//
// Thread safety: none needed, it is constant after construction.
class TempDir {
 public:
  TempDir();
  explicit TempDir(const std::filesystem::path& under);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // To be given to the constructor by a test that makes and removes many files: in memory, if the
  // machine has such a place with some room; else the usual one.
  static std::filesystem::path Quick();

 private:
  std::filesystem::path path_;
};

}  // namespace oncemq::testing
