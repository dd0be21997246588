// SPDX-License-Identifier: Apache-2.0
// CarefulFiles: the file system as RocksDB has it, but that removes nothing any more once a
// MANIFEST could not be written or synced, or could not be made the current one.
// Why: RocksDB 7.8 takes such a record for not written and removes the files that it names. It may
// be there all the same, and the next opening would miss them: one sync that fails would cost the
// store. What nobody needs that opening removes by itself.
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <string>

namespace oncemq {

class CarefulFiles final : public rocksdb::FileSystemWrapper {
 public:
  CarefulFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "CarefulFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  std::atomic<bool> in_doubt_{false};
};

}  // namespace oncemq
