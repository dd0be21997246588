// SPDX-License-Identifier: Apache-2.0
// CarefulFiles: the file system as RocksDB has it, with care where RocksDB 7.8 takes none. One for
// each opening of a store. A disk that fails for a moment would cost the store otherwise, or end
// the process, since Debian's build checks what it believes:
// - A record of a MANIFEST that could not be written or synced counts as not written, and the files
//   that it names are removed. It may be there all the same. So nothing is removed any more once a
//   MANIFEST is in doubt; the next opening removes what nobody needs.
// - An opening that fails leaves what it has made, so on a full disk each one takes more of it.
//   Here it is removed, as long as nothing can name it.
// - A file whose first or last key could not be read is taken in as if it were empty. Here it is
//   refused.
// - A file of which the end cannot be read, where its properties and deletions of ranges are noted,
//   is used without them: rows are missed in silence. Here the store is of no use any more, and
//   nothing that RocksDB makes of such a file becomes a part of it.
// - A log must not be synced for the first time when a write to it has failed: SyncLog().
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"

namespace oncemq {

class CarefulFiles final : public rocksdb::FileSystemWrapper {
 public:
  using Status = rocksdb::IOStatus;
  using Debug = rocksdb::IODebugContext;

  CarefulFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  // What is made from now on is no leftover.
  void NoteOpened() { opened_ = true; }
  rocksdb::Status SyncLog(rocksdb::DB& database);
  // What is read may be wrong.
  bool unread() const { return end_unread_; }

  const char* Name() const override { return "CarefulFiles"; }
  Status NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                         std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override;
  Status NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                             Debug* debug) override;
  Status LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                  Debug* debug) override;
  Status RenameFile(const std::string& from, const std::string& to,
                    const rocksdb::IOOptions& options, Debug* debug) override;
  Status DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                    Debug* debug) override;
  Status UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                    Debug* debug) override;

  // Of the files that it has made.
  void NoteFailedManifest();
  void NoteFailedLog();
  void NoteUnreadDraft();
  void NoteUnreadEnd();

 private:
  void RemoveLeftovers();

  std::atomic<bool> in_doubt_{false};
  std::atomic<bool> current_named_{false};  // or it was tried
  std::atomic<bool> opened_{false};
  std::atomic<bool> draft_unread_{false};
  std::atomic<bool> end_unread_{false};
  Mutex made_mutex_;
  std::vector<std::string> made_ GUARDED_BY(made_mutex_);
  // Who syncs shares it, so that no write fails between a look at the next one and the sync.
  std::shared_mutex log_gate_;
  bool log_failed_ = false;
};

}  // namespace oncemq
