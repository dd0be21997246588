// SPDX-License-Identifier: Apache-2.0
// LogOrder: syncs the old log when RocksDB begins a new one, before anything stands in that.
// Why: RocksDB 7.8 notices a hole within a log, but not that a log ends too early, as long as it
// ends between two changes. A power loss that takes the unsynced end of the old log and leaves what
// stands in the new one would be opened as if nothing were missing in the middle. A log is changed
// with each full or flushed buffer, so this costs little.
//
// Failure: failed() says so, for ever.
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <memory>
#include <utility>

#include "careful_files.h"

namespace oncemq {

class LogOrder final : public rocksdb::EventListener {
 public:
  explicit LogOrder(std::shared_ptr<CarefulFiles> files) : files_(std::move(files)) {}

  // From when on it syncs: what is opened writes nothing of ours before.
  void Watch(rocksdb::DB* database) { database_ = database; }
  bool failed() const { return failed_; }

  // Whoever writes or flushes waits for it; RocksDB's own lock is not held.
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override {
    rocksdb::DB* const database = database_;
    if (database != nullptr && !files_->SyncLog(*database).ok()) {
      failed_ = true;
    }
  }

 private:
  const std::shared_ptr<CarefulFiles> files_;
  std::atomic<rocksdb::DB*> database_{nullptr};
  std::atomic<bool> failed_{false};
};

}  // namespace oncemq
