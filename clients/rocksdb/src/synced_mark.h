// SPDX-License-Identifier: Apache-2.0
// SyncedMark: the number of the last change of a store that is surely on the disk, in a file of its
// own (SYNCED). It is written after the sync that it tells of and never before, so it may lag
// behind the store and never run ahead of it: a store that opens below its mark has lost something.
// After a power loss it may lag by what the system had not written of it, half a minute or so.
//
//   two slots of 12 bytes: number (8, little-endian), CRC-32C of it (4); the higher one counts, so
//   that a slot torn by a crash leaves the other
//
// Thread safety: none; its owner calls one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "oncemq/base/result.h"

namespace oncemq {

class SyncedMark {
 public:
  SyncedMark() = default;
  ~SyncedMark();
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  // Opens the file; makes it where it is missing and `may_make`. As long as nothing was synced, the
  // names of the file and of the folders above it are synced first. kCorrupt: it is gone, or no
  // slot can be read.
  Status Open(const std::string& directory, bool may_make);
  // For whoever only looks: neither makes nor syncs anything.
  Status OpenToRead(const std::string& directory);
  // Again: whoever held the store may have gone on since.
  Status Reread();
  uint64_t number() const { return number_; }  // 0: none yet
  Status Write(uint64_t number);

 private:
  Status Make(const std::string& path);
  Status Read(const std::string& path);

  int file_ = -1;
  uint64_t number_ = 0;
  int next_ = 0;  // slot
};

}  // namespace oncemq
