// SPDX-License-Identifier: Apache-2.0
#include "careful_files.h"

#include <string_view>
#include <utility>

#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus Noted(IOStatus status, std::atomic<bool>& in_doubt) {
  if (!status.ok()) {
    in_doubt = true;
  }
  return status;
}

class ManifestFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ManifestFile(std::unique_ptr<FSWritableFile> file, std::atomic<bool>& in_doubt)
      : FSWritableFileOwnerWrapper(std::move(file)), in_doubt_(in_doubt) {}

  IOStatus Append(const Slice& bytes, const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Append(bytes, options, debug), in_doubt_);
  }
  IOStatus Append(const Slice& bytes, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& sums, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Append(bytes, options, sums, debug), in_doubt_);
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Flush(options, debug), in_doubt_);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Sync(options, debug), in_doubt_);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Fsync(options, debug), in_doubt_);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Noted(FSWritableFileOwnerWrapper::Close(options, debug), in_doubt_);
  }

 private:
  std::atomic<bool>& in_doubt_;
};

std::string_view NameIn(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

IOStatus CarefulFiles::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<FSWritableFile>* file,
                                       IODebugContext* debug) {
  IOStatus made = FileSystemWrapper::NewWritableFile(path, options, file, debug);
  if (made.ok() && NameIn(path).starts_with("MANIFEST-")) {
    *file = std::make_unique<ManifestFile>(std::move(*file), in_doubt_);
  }
  return made;
}

IOStatus CarefulFiles::RenameFile(const std::string& from, const std::string& to,
                                  const IOOptions& options, IODebugContext* debug) {
  IOStatus renamed = FileSystemWrapper::RenameFile(from, to, options, debug);
  return NameIn(to) == "CURRENT" ? Noted(std::move(renamed), in_doubt_) : renamed;
}

IOStatus CarefulFiles::DeleteFile(const std::string& path, const IOOptions& options,
                                  IODebugContext* debug) {
  return in_doubt_ && !ONCEMQ_MUTANT("removed-in-doubt")
             ? IOStatus::OK()
             : FileSystemWrapper::DeleteFile(path, options, debug);
}

}  // namespace oncemq
