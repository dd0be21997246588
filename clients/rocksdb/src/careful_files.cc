// SPDX-License-Identifier: Apache-2.0
#include "careful_files.h"

#include <mutex>
#include <string_view>
#include <utility>

#include "rocks_names.h"

namespace oncemq {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

std::string_view NameIn(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool IsDraft(std::string_view path) {
  return NameIn(path).starts_with(kIngestPrefix);
}

// A file of which somebody wants to know whether it took what it was given.
class NotedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using Note = void (CarefulFiles::*)();
  NotedFile(std::unique_ptr<FSWritableFile> file, CarefulFiles& files, Note note)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), note_(note) {}

  IOStatus Append(const Slice& bytes, const IOOptions& options, IODebugContext* debug) override {
    return Noted(Refused() ? IOStatus::IOError("what it rests on could not be read")
                           : FSWritableFileOwnerWrapper::Append(bytes, options, debug));
  }
  IOStatus Append(const Slice& bytes, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& sums, IODebugContext* debug) override {
    return Noted(Refused() ? IOStatus::IOError("what it rests on could not be read")
                           : FSWritableFileOwnerWrapper::Append(bytes, options, sums, debug));
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Flush(options, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Synced(FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Synced(FSWritableFileOwnerWrapper::Fsync(options, debug));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Close(options, debug));
  }

 private:
  IOStatus Noted(IOStatus status) {
    if (!status.ok()) {
      (files_.*note_)();
    }
    return status;
  }
  bool Refused() const { return note_ == &CarefulFiles::NoteFailedManifest && files_.unread(); }
  // A log is synced by SyncLog(), which would wait for itself.
  IOStatus Synced(IOStatus status) {
    return note_ == &CarefulFiles::NoteFailedLog ? status : Noted(std::move(status));
  }

  CarefulFiles& files_;
  const Note note_;
};

// Somebody wants to know where it could not be read.
class TableFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  TableFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, CarefulFiles& files, bool draft,
            uint64_t end)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), files_(files), draft_(draft), end_(end) {}

  IOStatus Read(uint64_t at, size_t size, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    IOStatus read = FSRandomAccessFileOwnerWrapper::Read(at, size, options, result, scratch, debug);
    if (!read.ok() && draft_) {
      files_.NoteUnreadDraft();
    } else if (!read.ok() && at + size > end_) {
      files_.NoteUnreadEnd();
    }
    return read;
  }

 private:
  CarefulFiles& files_;
  const bool draft_;
  const uint64_t end_;  // where it begins
};

}  // namespace

void CarefulFiles::NoteFailedManifest() {
  in_doubt_ = true;
}

void CarefulFiles::NoteFailedLog() {
  const std::unique_lock gate(log_gate_);
  log_failed_ = true;
}

void CarefulFiles::NoteUnreadDraft() {
  draft_unread_ = true;
}

void CarefulFiles::NoteUnreadEnd() {
  end_unread_ = true;
}

rocksdb::Status CarefulFiles::SyncLog(rocksdb::DB& database) {
  const std::shared_lock gate(log_gate_);
  return log_failed_ ? rocksdb::Status::IOError("the log could not be written")
                     : database.SyncWAL();
}

IOStatus CarefulFiles::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<FSWritableFile>* file,
                                       IODebugContext* debug) {
  IOStatus made = FileSystemWrapper::NewWritableFile(path, options, file, debug);
  if (!made.ok()) {
    return made;
  }
  if (!opened_) {
    MutexLock lock(made_mutex_);
    made_.push_back(path);
  }
  if (NameIn(path).starts_with("MANIFEST-")) {
    *file = std::make_unique<NotedFile>(std::move(*file), *this, &CarefulFiles::NoteFailedManifest);
  } else if (path.ends_with(".log")) {
    *file = std::make_unique<NotedFile>(std::move(*file), *this, &CarefulFiles::NoteFailedLog);
  }
  return made;
}

IOStatus CarefulFiles::NewRandomAccessFile(const std::string& path,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                           IODebugContext* debug) {
  IOStatus opened = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  const bool draft = IsDraft(path);
  if (opened.ok() && (draft || path.ends_with(".sst"))) {
    constexpr uint64_t kEnd = 64 << 10;
    uint64_t size = 0;  // not known: it is all end
    FileSystemWrapper::GetFileSize(path, {}, &size, debug).PermitUncheckedError();
    const uint64_t end = size > kEnd ? size - kEnd : 0;
    *file = std::make_unique<TableFile>(std::move(*file), *this, draft, end);
  }
  return opened;
}

IOStatus CarefulFiles::LinkFile(const std::string& from, const std::string& to,
                                const IOOptions& options, IODebugContext* debug) {
  if (IsDraft(from) && draft_unread_) {
    return IOStatus::IOError(from, "could not be read");
  }
  return FileSystemWrapper::LinkFile(from, to, options, debug);
}

IOStatus CarefulFiles::RenameFile(const std::string& from, const std::string& to,
                                  const IOOptions& options, IODebugContext* debug) {
  const bool current = NameIn(to) == "CURRENT";
  current_named_ = current_named_ || current;
  IOStatus renamed = FileSystemWrapper::RenameFile(from, to, options, debug);
  in_doubt_ = in_doubt_ || (current && !renamed.ok());
  return renamed;
}

IOStatus CarefulFiles::DeleteFile(const std::string& path, const IOOptions& options,
                                  IODebugContext* debug) {
  return in_doubt_ ? IOStatus::OK() : FileSystemWrapper::DeleteFile(path, options, debug);
}

// The last that an opening which has failed does with the store, while it is still its own.
IOStatus CarefulFiles::UnlockFile(rocksdb::FileLock* lock, const IOOptions& options,
                                  IODebugContext* debug) {
  if (!opened_ && !current_named_) {
    RemoveLeftovers();
  }
  return FileSystemWrapper::UnlockFile(lock, options, debug);
}

void CarefulFiles::RemoveLeftovers() {
  MutexLock lock(made_mutex_);
  for (const std::string& path : made_) {
    const std::string_view name = NameIn(path);
    if (name.ends_with(".sst") || name.ends_with(".log") || name.ends_with(".dbtmp") ||
        name.starts_with("MANIFEST-")) {
      static_cast<void>(FileSystemWrapper::DeleteFile(path, {}, nullptr));
    }
  }
}

}  // namespace oncemq
