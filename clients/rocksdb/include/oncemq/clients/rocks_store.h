// SPDX-License-Identifier: Apache-2.0
// RocksStore: one RocksDB directory, held by this process alone, with its column families by
// number. RocksDB's own types stay inside.
//
// Promise: Open() either gives the store with all synced changes, or says which are missing.
// RocksDB itself takes damage in the middle of its log for a torn tail and opens without the rest.
// So the file SYNCED next to the store keeps the number of the last synced change. After the first
// failed write every later one fails, and the owner opens the store again. A draft that fails is no
// such write.
//
// Failure: kUnavailable while another process holds the directory, or the disk is full or fails.
// kCorrupt says which part is damaged or missing. kInvalid for a directory that cannot hold a
// store, or lies on a network file system, whose locks and syncs promise less.
//
// Thread safety: any thread; batches and iterators belong to one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq {

struct RocksFamily {
  std::string name;
  size_t memtable_bytes = size_t{64} << 20;
  bool compactions = true;
  // Each value is a page that is seldom wanted twice: a block of its own, read past the cache.
  bool pages = false;
};

// What several stores may share: a cache of pages, and a bound for what they have not put into
// files yet.
//
// Thread safety: any thread.
class RocksMemory;
std::shared_ptr<RocksMemory> NewRocksMemory(size_t cache_bytes, size_t buffer_bytes);

struct RocksOptions {
  std::string directory;
  std::vector<RocksFamily> families;    // numbered from 0 in this order; "default" must be first
  bool exists = false;                  // it must: it is not made where there is none
  std::shared_ptr<RocksMemory> memory;  // nullptr: its own, of the default sizes
  size_t max_wal_bytes = size_t{1} << 30;
  int background_threads = 1;
};

// Changes that land together or not at all.
class RocksBatch {
 public:
  RocksBatch(RocksBatch&&) noexcept;
  RocksBatch& operator=(RocksBatch&&) noexcept;
  ~RocksBatch();

  void Put(size_t family, std::string_view key, std::string_view value);
  void Delete(size_t family, std::string_view key);
  void DeleteRange(size_t family, std::string_view from, std::string_view to);
  void Clear();
  size_t bytes() const;

 private:
  friend class RocksStore;
  struct Impl;
  explicit RocksBatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class RocksStore {
 public:
  static Result<std::unique_ptr<RocksStore>> Open(const RocksOptions& options);
  // Without the lock, and without writing anything: whoever holds the store makes what is read
  // worthless, so ask first and again afterwards. Every change is refused (kInvalid).
  static Result<std::unique_ptr<RocksStore>> OpenToRead(const RocksOptions& options);
  // Makes the directory if it is missing, for its owner alone. kInvalid: no store can lie there
  // until a person changes something; kUnavailable: not now, as on a full disk.
  static Status MakeDirectory(const std::string& directory);
  // Whether MakeDirectory() could succeed, as the folders are now. Changes nothing.
  static Status CheckDirectory(const std::string& directory);
  // The process that holds the store; 0: none does. kInvalid in a process that has a store open
  // itself: closing the lock's file would give its own lock away, if it is the same one.
  static Result<int64_t> HolderOf(const std::string& directory);
  ~RocksStore();

  // A batch for this store, which it must not outlive.
  RocksBatch NewBatch() const;
  // Empties the batch. Effect::kUnknown on failure. A write without `sync` does not wait for the
  // sync of another.
  Status Write(RocksBatch& batch, bool sync);
  // Makes everything written so far survive power loss. Likewise.
  Status Sync();
  // Number of the last change that Write() has acknowledged, or that the opening found. A later
  // opening that finds a lower one has lost changes.
  uint64_t acknowledged() const;
  // That the next owner would find this store here. kUnavailable where somebody has moved, removed
  // or replaced its directory, or the file of its lock; it is of no use any more then.
  Status CheckPlace();

  // A file could not be read in a way that RocksDB passes over: from then on nothing is read or
  // written any more, until the store is opened again.
  bool unread() const;

  Result<std::optional<std::string>> Get(size_t family, std::string_view key);
  // Calls `found` for each key that exists, with its index; keys must be sorted.
  Status MultiGet(size_t family, std::span<const std::string_view> keys,
                  const std::function<void(size_t index, std::string_view value)>& found);
  // Reads every file of the family: kCorrupt names the damaged one.
  Status Verify(size_t family);
  // After Verify(). In key order over [from, to), to the end if `to` is empty, until `visit` says
  // false.
  Status Scan(size_t family, std::string_view from, std::string_view to,
              const std::function<bool(std::string_view key, std::string_view value)>& visit);

  // A file of sorted rows built beside the store and then taken into it, all or nothing.
  using Rows = std::function<bool(std::string& key, std::string& value)>;  // false: no more
  Status Ingest(size_t family, const Rows& next);
  // Likewise, for rows that can wait: what fails before the file is taken in leaves the store
  // usable and without it. An error of `next` ends it, and is given back.
  using DraftRows = std::function<Result<bool>(std::string& key, std::string& value)>;
  Status IngestDraft(size_t family, const DraftRows& next);
  // Of the rows of [from, to) in files, about.
  uint64_t FileBytes(size_t family, std::string_view from, std::string_view to) const;
  // What the disk has left for this store; nothing where it does not say.
  std::optional<uint64_t> FreeBytes() const;
  // Drops every row of [from, to), whole files first.
  Status Drop(size_t family, std::string_view from, std::string_view to);
  Status Flush(size_t family);

 private:
  struct Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  Status TakeIn(size_t family, const std::string& path);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oncemq
