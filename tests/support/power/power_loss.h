// SPDX-License-Identifier: Apache-2.0
// PowerLoss: what a directory looks like when the power goes while a process works in it.
//
// The process runs with Environment() and may be killed at any moment. Then its record is read and
// replayed up to any entry, which is a loss of power at that moment, and Build() makes a directory
// of what was left. So one run gives as many losses as anybody wants, each of them again from its
// seed.
//
// What survives for certain, and nothing more is promised by POSIX, ext4 and xfs together: the
// bytes and the size of a file as they were when its last finished fsync() or fdatasync() began;
// the names in a folder as they were when the last finished fsync() of the folder itself began. A
// new file needs both. (ext4 keeps the names of the folder too when a new file in it is synced, xfs
// mostly; nothing here counts on it.) What else was done may survive or not: `Keep` says how.
//
// Names that are in doubt survive in the order in which they were made, whatever becomes of the
// bytes. POSIX does not say so; ext4 and xfs do, since names are changed in their journal, and
// RocksDB 7.8 relies on it: it makes MANIFEST-5, lets CURRENT point to it by a rename, and syncs
// the folder once, behind both. The rename without the file would be a store that cannot be opened.
//
// Failure: std::runtime_error, and the test fails, when the record tells of something that it does
// not know (a rename from one folder to another).
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record_format.h"

namespace oncemq::testing {

enum class Keep : uint8_t {
  kSynced,     // only what survives for certain
  kBefore,     // and all that was done before some moment, the same for all files
  kBeforeOwn,  // and for each file or folder what was done before a moment of its own
  kAny,        // and any other bytes in no order, and names before some moment
};

class PowerLoss {
 public:
  // Watches `root`, which exists and whose present content is taken for durable, until the record
  // is read. The record lies elsewhere.
  PowerLoss(std::filesystem::path root, std::filesystem::path record);
  ~PowerLoss();
  PowerLoss(const PowerLoss&) = delete;
  PowerLoss& operator=(const PowerLoss&) = delete;

  // For the process. With `last` it is killed as by kill -9 when so many entries of its own are in
  // the record, so that files and record agree: another process may go on with both. A kill from
  // outside can come between a change and its entry.
  std::map<std::string, std::string> Environment(uint64_t last = 0) const;

  // After its end. Entries are numbered from 0.
  void ReadRecord();
  size_t entries() const;
  // What it said on its standard output, and the number of entries up to there.
  const std::vector<std::pair<size_t, std::string>>& notes() const;

  // The next moment, from this one on, at which a sync is about to end: most is in doubt then.
  size_t BeforeNextSync(size_t entries) const;

  // The next moment, later than this one, at which a file has just been made.
  size_t BehindNextFile(size_t entries) const;

  // The loss comes after so many entries; never fewer than at the call before.
  void ReplayTo(size_t entries);
  // `into` does not exist yet. A write that is in doubt when the order is kept, and any one when it
  // is not, may be torn: of its sectors of 512 bytes only some arrive.
  void Build(Keep keep, uint64_t seed, const std::filesystem::path& into) const;

 private:
  class Disk;

  PowerHead HeadOf(size_t entry) const;

  const std::filesystem::path root_;
  const std::filesystem::path record_;
  std::string bytes_;            // of the record
  std::vector<size_t> offsets_;  // of its entries
  std::vector<std::pair<size_t, std::string>> notes_;
  size_t replayed_ = 0;
  std::unique_ptr<Disk> disk_;
};

}  // namespace oncemq::testing
