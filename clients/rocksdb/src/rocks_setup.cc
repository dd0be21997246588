// SPDX-License-Identifier: Apache-2.0
#include "rocks_setup.h"

#include <rocksdb/table.h>
#include <sys/vfs.h>

#include "errors_stay.h"
#include "rocks_log.h"

namespace oncemq {

// Of linux/magic.h and statfs(2).
bool OnNetwork(const std::string& directory) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) {
    return false;
  }
  switch (static_cast<uint32_t>(facts.f_type)) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x01021997:  // 9P
    case 0x00C36400:  // Ceph
    case 0x65735546:  // FUSE: whatever it is, nobody says that its locks hold
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x73757245:  // Coda
    case 0x5346414F:  // AFS
      return true;
    default:
      return false;
  }
}

bool TakesNoFiles(const std::string& directory) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) {
    return false;
  }
  const auto type = static_cast<uint32_t>(facts.f_type);
  return type == 0x9FA0 /* proc */ || type == 0x62656572 /* sysfs */;
}

std::shared_ptr<RocksMemory> NewRocksMemory(size_t cache_bytes, size_t buffer_bytes) {
  auto memory = std::make_shared<RocksMemory>();
  memory->cache = rocksdb::NewLRUCache(cache_bytes);
  memory->buffers = std::make_shared<rocksdb::WriteBufferManager>(buffer_bytes);
  return memory;
}

rocksdb::ColumnFamilyOptions ToFamily(const RocksFamily& family,
                                      const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  if (family.pages) {
    table.block_size = 1;
    table.no_block_cache = true;
  } else {
    table.block_cache = cache;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  }
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = family.memtable_bytes;
  options.disable_auto_compactions = !family.compactions;
  options.compression = rocksdb::kNoCompression;  // ids do not compress, and time is short
  return options;
}

rocksdb::DBOptions ToDatabase(const RocksOptions& options) {
  rocksdb::DBOptions database;
  // What a former owner has left in its logs goes into files at each opening, which are synced.
  // RocksDB's list of the logs that must be there names those of one life only: with older ones
  // still in use, one that is gone would not be missed. And it syncs those that it writes: a power
  // loss could take the end of an older one from under a newer one.
  database.avoid_flush_during_recovery = false;
  database.max_total_wal_size = options.max_wal_bytes;
  database.max_background_jobs = options.background_threads;
  // A prefix of what was written, whatever a power loss has left of it: never a log with a hole.
  // That the prefix is long enough, SYNCED says.
  database.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  database.track_and_verify_wals_in_manifest = true;
  database.paranoid_checks = true;
  database.listeners.push_back(std::make_shared<ErrorsStay>());
  database.info_log = std::make_shared<RocksLog>(options.directory);
  return database;
}

}  // namespace oncemq
