// SPDX-License-Identifier: Apache-2.0
// What is behind a RocksStore and its batches. rocks_open.cc opens it, rocks_store.cc uses it.
//
// Thread safety: as RocksStore.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/write_batch.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "careful_files.h"
#include "log_order.h"
#include "oncemq/base/check.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/rocks_store.h"
#include "rocks_names.h"
#include "synced_mark.h"

namespace oncemq {

inline rocksdb::Slice AsSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

inline std::string_view AsView(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// What a disk, or a process without free descriptors, does for a while has many names in RocksDB.
inline Code CodeOf(const rocksdb::Status& status, const std::string& text) {
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  if (status.IsCorruption() || status.IsPathNotFound()) {  // a file of the store is gone
    const bool passes = says("IO error") && !says("No such file");
    return passes ? Code::kUnavailable : Code::kCorrupt;
  }
  if (status.IsInvalidArgument() || status.IsNotSupported()) {
    // It tries them out on CURRENT, which may not be opened at the moment.
    const bool passes = says("Direct I/O") || says("direct I/O") || says("with filesystem");
    return passes ? Code::kUnavailable : Code::kInvalid;
  }
  return Code::kUnavailable;
}

inline Error ToError(const rocksdb::Status& status, Effect effect, const std::string& directory) {
  std::string text = status.ToString();
  const Code code = CodeOf(status, text);
  return {code, effect, directory + ": " + std::move(text)};
}

struct RocksBatch::Impl {
  const std::vector<rocksdb::ColumnFamilyHandle*>* handles;
  rocksdb::WriteBatch batch;
  rocksdb::Status status = rocksdb::Status::OK();  // of the changes; told by Write()

  rocksdb::ColumnFamilyHandle* Handle(size_t family) const {
    ONCEMQ_CHECK(family < handles->size(), "a family of this store");
    return (*handles)[family];
  }
  void Keep(const rocksdb::Status& change) {
    if (status.ok()) {
      status = change;
    }
  }
};

// Of this process; see RocksStore::HolderOf().
inline std::atomic<int> stores_held{0};

struct RocksStore::Impl {
  std::string directory;
  bool held = false;  // its lock is ours; what is not held is only read
  const std::shared_ptr<CarefulFiles> careful = std::make_shared<CarefulFiles>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(careful);
  const std::shared_ptr<LogOrder> log_order = std::make_shared<LogOrder>(careful);
  struct stat lock_file {};  // with `held`
  std::unique_ptr<rocksdb::DB> database;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::Options file_options;
  std::atomic<uint64_t> next_file{0};
  std::atomic<bool> broken{false};
  std::atomic<uint64_t> acknowledged{0};  // number of a change
  Mutex sync_mutex;  // a sync that fails is known as failed before the next one begins
  Mutex mark_mutex;
  SyncedMark mark GUARDED_BY(mark_mutex);

  ~Impl() {
    if (Usable() && careful->SyncLog(*database).ok()) {
      static_cast<void>(MarkSynced(database->GetLatestSequenceNumber()));
    }
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      database->DestroyColumnFamilyHandle(handle);
    }
    database.reset();
    stores_held -= held ? 1 : 0;
  }

  rocksdb::ColumnFamilyHandle* Handle(size_t family) const {
    ONCEMQ_CHECK(family < handles.size(), "a family of this store");
    return handles[family];
  }
  Error Failed(const rocksdb::Status& status, Effect effect) const {
    return ToError(status, effect, directory);
  }
  // Of a change: none is made any more.
  Error Broken(const rocksdb::Status& status) {
    broken = true;
    return Failed(status, Effect::kUnknown);
  }
  Status Readable() const {
    return careful->unread()
               ? Status(Error{Code::kUnavailable, Effect::kNone,
                              directory + ": the end of a file could not be read; the store must "
                                          "be opened again"})
               : Status();
  }
  Status Usable() const {
    if (!held) {
      return Error{Code::kInvalid, Effect::kNone, directory + ": it was opened to be read"};
    }
    if (Status readable = Readable(); !readable) {
      return readable;
    }
    if (!broken && !log_order->failed()) {
      return {};
    }
    return Error{Code::kUnavailable, Effect::kNone,
                 directory + ": an earlier write failed; the store must be opened again"};
  }
  void Acknowledge(uint64_t number) {
    uint64_t before = acknowledged;
    while (before < number && !acknowledged.compare_exchange_weak(before, number)) {
    }
  }
  Status MarkSynced(uint64_t number) {
    MutexLock lock(mark_mutex);
    return number > mark.number() ? mark.Write(number) : Status();
  }
  Status SyncLog();
  Result<bool> OpenMark();
  // With `held`: and takes the lock.
  rocksdb::Status OpenDatabase(const RocksOptions& options, const rocksdb::DBOptions& asked);
  Status CheckComplete();
  // Without opening it: who closes a file of a lock loses the lock.
  bool StatLock(struct stat& facts) const {
    return stat((directory + "/LOCK").c_str(), &facts) == 0;
  }
  Status VerifyFiles(size_t family) const;
  Result<bool> WriteFile(size_t family, const std::string& path, const DraftRows& next) const;
};

}  // namespace oncemq
