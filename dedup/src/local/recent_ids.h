// SPDX-License-Identifier: Apache-2.0
// RecentIds: the finished ids of one generation in memory, as the journal has them. Records lie in
// an arena that only grows; a table of (tag, slot) finds them; the bytes of the id decide.
//
// Memory: the records, and 8 bytes of table for each two thirds of an id. Grows with use.
//
// Thread safety: const calls from any thread while nobody appends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "../zero_pages.h"
#include "id_record.h"
#include "oncemq/base/hash.h"

namespace oncemq {

class RecentIds {
 public:
  explicit RecentIds(const KeyedHash& hasher);

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&table_[Home(hash)]); }
  std::optional<IdRecord> Find(uint64_t hash, std::string_view id, bool digest) const;

  // Takes one record over; `hash` is that of its id.
  void Append(std::string_view record, uint64_t hash);
  // Takes the records of a batch over. False, and nothing taken, if the bytes are no records.
  bool AppendAll(std::string_view records);

  size_t size() const { return size_; }
  size_t memory_bytes() const;
  // The most that they take until they are put away: the records; the table, which has up to 24
  // bytes for each; and 16 bytes for each while they are sorted. Grows evenly, not by doubling.
  uint64_t bytes_to_put_away() const;

  // Every record with its hash, in the order of the hashes.
  struct Sorted {
    uint64_t hash;
    uint32_t slot;
  };
  std::vector<Sorted> Sort() const;
  IdRecord At(uint32_t slot) const;

 private:
  static constexpr size_t kChunkBytes = size_t{2} << 20;
  // The first few, which are there only as far as they are used.
  static constexpr size_t kSmallChunks = 4;
  static constexpr size_t kFirstEntries = 1024;

  // From the tag alone, so that a table grows without a look at its records.
  size_t Home(uint64_t hash) const { return (hash >> 32) & (entries_ - 1); }
  void Link(uint64_t entry);
  void Grow();
  static ZeroPages NewPages(size_t bytes, bool huge);
  uint32_t Reserve(size_t bytes);

  // A slot counts units, so that 32 bits reach 16 GiB.
  const char* Address(uint32_t slot) const {
    const size_t at = size_t{slot} * kRecordUnit;
    return chunks_[at / kChunkBytes].data() + at % kChunkBytes;
  }

  const KeyedHash& hasher_;
  size_t entries_ = kFirstEntries;
  ZeroPages pages_;
  uint64_t* table_;  // upper half: tag; lower half: slot + 1; 0: free
  std::vector<ZeroPages> chunks_;
  std::vector<size_t> used_;  // bytes of each chunk
  size_t size_ = 0;
};

}  // namespace oncemq
