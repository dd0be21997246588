// SPDX-License-Identifier: Apache-2.0
// How a store is set up: RocksDB's options, and where a store may lie.
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>
#include <string>

#include "oncemq/clients/rocks_store.h"

namespace oncemq {

// On a file system of another machine, or one that nobody can tell.
bool OnNetwork(const std::string& directory);
// On one that the kernel fills by itself.
bool TakesNoFiles(const std::string& directory);

class RocksMemory {
 public:
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> buffers;
};

rocksdb::ColumnFamilyOptions ToFamily(const RocksFamily& family,
                                      const std::shared_ptr<rocksdb::Cache>& cache);
rocksdb::DBOptions ToDatabase(const RocksOptions& options);

}  // namespace oncemq
