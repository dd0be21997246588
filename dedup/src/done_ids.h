// SPDX-License-Identifier: Apache-2.0
// DoneIds: the finished ids of a window without a disk, the oldest forgotten first.
//
// Promise: the last `remember` ids are known, and at most an eighth more. The hash only finds, the
// bytes of the id decide: ids with equal hashes cost time, never an effect.
//
// Records lie in slices, append-only arenas of an eighth of the ids each; a whole slice is
// forgotten at a time, and its memory used again. One table leads to the records of all slices, so
// a look-up reads one cache line, and one more only for a known id. Entries of a forgotten slice
// are dead: recognised by the slice's number, replaced when in the way.
//
// Memory: 16 bytes of table for each id to remember, and id + result + at most 47 bytes for each id
// known, 8 more for one without a partition.
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "oncemq/dedup/window.h"
#include "packed_tags.h"
#include "zero_pages.h"

namespace oncemq {

// What is kept of a finished id.
struct DoneRecord {
  Coordinates at;
  Token token;  // of its completer; empty for a restored marker
  uint32_t fingerprint = 0;
  std::string_view result;          // from Find(): valid until the next Append()
  BootTime ends = BootTime::max();  // of an id without a partition: it is known until then
};

class DoneIds {
 public:
  // Precondition: remember > 0.
  explicit DoneIds(uint32_t remember);

  // False if the system gave no memory for the table: the object must not be used.
  bool allocated() const { return table_ != nullptr; }

  // First the table's line of every id of a batch, then their records: the misses overlap.
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&table_[Home(hash)]); }
  void PrefetchRecord(uint64_t hash) const;

  // One that has ended by `now` is not found, nor one of another partition than `within`.
  std::optional<DoneRecord> Find(uint64_t hash, std::string_view id, BootTime now = BootTime::min(),
                                 const Coordinates* within = nullptr) const;

  // Preconditions: the id is not known, or only in another partition, where each call of Find()
  // says which; id and result together have at most kMaxRecord bytes.
  void Append(uint64_t hash, std::string_view id, const DoneRecord& record);

  size_t memory_bytes() const;
  static constexpr size_t kMaxRecord = (size_t{256} << 10) - 64;

 private:
  struct Head;
  static constexpr size_t kChunkBytes = size_t{256} << 10;
  // Offsets count units, so that 32 bits reach 16 GiB in a slice.
  static constexpr size_t kUnit = 4;
  static constexpr size_t kMaxSlice = kUnit << 32;

  using Chunks = std::vector<std::unique_ptr<char[]>>;
  struct Slice {
    Chunks chunks;
    size_t used = 0;  // bytes, the unused ends of full chunks included
    uint32_t ids = 0;
    char* At(size_t place) const { return chunks[place / kChunkBytes].get() + place % kChunkBytes; }
  };

  // One cache line. An entry has a tag other than 0, the number of its slice and its offset there.
  struct alignas(64) Bucket {
    using Tags = PackedTags<16, 2>;
    Tags tags;
    std::array<uint32_t, Tags::kCount> offsets;
    std::array<uint8_t, Tags::kCount> slices;
    // Whether an entry that belongs here had to go further, and the slice of the last one: a search
    // may end here once that slice is forgotten.
    bool passed;
    uint8_t passed_in;
  };

  static uint64_t Tag(uint64_t hash) { return (hash & 0xFFFF) | 1; }
  size_t Home(uint64_t hash) const { return (hash >> 32) * buckets_ >> 32; }
  size_t After(size_t bucket) const { return bucket + 1 == buckets_ ? 0 : bucket + 1; }
  bool Lives(uint8_t slice) const { return static_cast<uint8_t>(newest_ - slice) < live_; }
  bool Passed(const Bucket& bucket) const { return bucket.passed && Lives(bucket.passed_in); }
  const char* RecordOf(const Bucket& bucket, size_t index) const {
    return slices_[bucket.slices[index]].At(bucket.offsets[index] * kUnit);
  }
  char* Reserve(size_t bytes, uint32_t* offset);
  void ForgetOldest();
  void NextSlice();
  void Link(uint64_t hash, uint32_t offset);
  void Bury(Bucket& bucket) const;

  uint32_t remember_;
  uint32_t slice_ids_;
  size_t buckets_;  // half full on average
  ZeroPages pages_;
  Bucket* table_;

  std::array<Slice, 256> slices_;  // by number
  uint8_t newest_ = 0;
  uint32_t live_ = 1;  // slices, the newest and those just before it
  Chunks spare_;       // of the slice forgotten last
  size_t known_ = 0;   // ids in them
  size_t swept_ = 0;   // the bucket at which the search for the dead goes on
};

}  // namespace oncemq
