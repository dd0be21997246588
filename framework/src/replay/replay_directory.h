// SPDX-License-Identifier: Apache-2.0
// ReplayDirectory: the files of one replay (docs/formats.md).
//
//   auto directory = ReplayDirectory::Open("replay-1");
//   auto kept = (*directory)->ReadSet();        // of an earlier run
//   auto status = (*directory)->KeepSet(*set);  // once
//
// **Promise:** each file is replaced as a whole, also over a loss of power. The set is written
// once. One process at a time works in a directory.
//
// **Failure:** kInvalid for a directory of another use, process or set. kCorrupt for damaged files.
// kUnavailable for a disk without room or right.
//
// **Thread safety:** one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/framework/replay.h"

namespace oncemq {

class ReplayDirectory {
 public:
  // Makes the directory if it is missing.
  static Result<std::unique_ptr<ReplayDirectory>> Open(const std::string& path);
  ~ReplayDirectory();
  ReplayDirectory(const ReplayDirectory&) = delete;
  ReplayDirectory& operator=(const ReplayDirectory&) = delete;

  Result<std::optional<ReplaySet>> ReadSet() const;
  Status KeepSet(const ReplaySet& set);

  std::string PathOf(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Nothing: there is no such file.
  Result<std::optional<std::string>> Read(std::string_view name) const;
  Status Replace(std::string_view name, std::string_view bytes) const;

 private:
  ReplayDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor of the locked file
};

}  // namespace oncemq
