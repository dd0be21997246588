// SPDX-License-Identifier: Apache-2.0
// The pages of several buckets made to those of one (docs/adr/0011). Nothing is known of them until
// somebody writes the facts.
//
// Promise: of each id one record stays, that of the youngest bucket that has it; ids are told apart
// by their bytes. Every page is read by its key and checked; one that is missing, or holds what
// does not belong there, is an error.
// Memory: for each bucket 1 MB of pages, or one page that is larger; the page, and the file's
// index (a sixty-fourth of its 32 MB), that are being written; the new filter, 2 bytes for each id.
//
// Thread safety: a merge belongs to one thread. Nobody may need what it has written, if it fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "id_filter.h"
#include "id_page.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/result.h"

namespace oncemq {

class RocksStore;

// What is read of a bucket.
struct BucketPart {
  uint32_t number = 0;
  uint32_t pages = 0;
  uint64_t ids = 0;
  int64_t base = 0;
};

struct MergedPages {
  uint32_t pages = 0;
  uint64_t ids = 0;
  IdFilter filter;
  uint32_t filter_rows = 0;
};

// `parts`: oldest first. Ends soon, and with an error, once `stop` is set.
Result<MergedPages> MergePages(RocksStore& store, std::span<const BucketPart> parts,
                               uint32_t number, int64_t base, const KeyedHash& hasher,
                               const std::atomic<bool>& stop);

// The filter as it was written behind the pages.
Result<IdFilter> ReadFilter(RocksStore& store, uint32_t number, uint32_t pages, uint32_t rows);

// The ids of one hash that were taken.
class IdsOfOneHash {
 public:
  // False: this one was taken before. Hashes come in order.
  bool Take(uint64_t hash, const IdRecord& record);

 private:
  uint64_t hash_ = 0;
  size_t count_ = 0;
  std::vector<std::pair<std::string, bool>> ids_;  // and whether it is a digest
};

}  // namespace oncemq
