// SPDX-License-Identifier: Apache-2.0
// The one directory that holds everything the demo writes. Removed at the end, unless kept.
//
// Thread safety: none needed, constant after construction.
#pragma once

#include <filesystem>
#include <memory>

#include "oncemq/base/result.h"

namespace oncemq::demo {

class WorkDir {
 public:
  static Result<std::unique_ptr<WorkDir>> Make(bool keep);
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  WorkDir(std::filesystem::path path, bool keep) : path_(std::move(path)), keep_(keep) {}

  const std::filesystem::path path_;
  const bool keep_;
};

}  // namespace oncemq::demo
