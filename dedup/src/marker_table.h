// SPDX-License-Identifier: Apache-2.0
// MarkerTable: the markers that do not age (open, parked, handed), found by hash and bytes of the
// id.
//
// Memory: 128 bytes a marker and 16 to 37 in the table; an id over 36 bytes keeps a kilobyte beside
// its marker. Slots are used again and memory is kept at its highest, so a steady load allocates
// nothing.
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "oncemq/dedup/window.h"
#include "packed_tags.h"

namespace oncemq {

struct Marker {
  Token token;
  OwnerEpoch owner_epoch = 0;  // of the claim; 0: nobody's partition
  BootTime lease_end;
  BootTime granted_at;
  uint64_t entry = 0;  // of the record that a parked id follows, also while it runs
  Coordinates at;
  uint32_t attempt = 0;
  uint32_t fingerprint = 0;
  MarkerState state = MarkerState::kOpen;
  bool held = true;        // false: released, the next claim gets it
  bool uncertain = false;  // an earlier attempt may have had its effect
  bool stored = false;     // it has a row of its own in the window's store
  bool cut = false;        // MarkerRules::CutToClock() has made up for its partition's next owner
  bool listed = false;     // MarkerEngine lists it among the failed ones

  // Nobody holds it, and nothing rests on it: it only counts attempts that have failed.
  bool only_counts() const { return state == MarkerState::kOpen && !held && !uncertain; }
};

// `within` as in Found: nullptr is any partition.
inline bool IsWithin(const Coordinates* within, uint32_t source, int32_t partition) {
  return within == nullptr || (within->source == source && within->partition == partition);
}

class MarkerTable {
 public:
  static constexpr size_t kMaxId = 1024;

  MarkerTable() : buckets_(kFirstBuckets) {}

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&buckets_[Home(Tag(hash))]); }
  void PrefetchMarker(uint64_t hash) const;

  // Pointers stay valid until the marker is erased.
  Marker* Find(uint64_t hash, std::string_view id, const Coordinates* within = nullptr);
  const Marker* Find(uint64_t hash, std::string_view id,
                     const Coordinates* within = nullptr) const {
    return const_cast<MarkerTable*>(this)->Find(hash, id, within);
  }

  // Preconditions: the id is not in it, or only of another partition, where each call of Find()
  // says which; it is at most kMaxId bytes long.
  Marker* Insert(uint64_t hash, std::string_view id);
  void Erase(uint64_t hash, const Marker* marker);

  size_t size() const { return size_; }
  size_t memory_bytes() const;

 private:
  static constexpr size_t kShortId = 36;  // a UUID's text
  static constexpr size_t kFirstBuckets = 256;
  static constexpr size_t kChunk = 512;  // markers allocated at a time

  struct alignas(64) Slot {
    Marker marker;
    uint16_t id_bytes = 0;
    std::array<char, kShortId> short_id{};
    std::unique_ptr<char[]> long_id;  // kept when the slot is used again

    std::string_view id() const {
      return {id_bytes <= kShortId ? short_id.data() : long_id.get(), id_bytes};
    }
  };

  // One cache line. `passed` counts the entries that belong here and had to go further: a search
  // ends where it is zero, so erasing leaves neither gaps nor tombstones.
  struct alignas(64) Bucket {
    using Tags = PackedTags<32, 4>;
    static constexpr size_t kCount = Tags::kCount - 1;  // the last tag stays 0
    Tags tags;                                          // 0: free
    std::array<uint32_t, kCount> slots{};
    uint32_t passed = 0;
  };

  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash) | 1; }
  size_t Home(uint32_t tag) const { return (tag >> 1) & (buckets_.size() - 1); }
  size_t After(size_t bucket) const { return (bucket + 1) & (buckets_.size() - 1); }
  Slot& At(uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  uint32_t NewSlot();
  void Link(uint32_t tag, uint32_t slot);
  void Grow();

  std::vector<Bucket> buckets_;
  std::vector<std::unique_ptr<Slot[]>> chunks_;
  std::vector<uint32_t> free_;  // the last one freed is used first: it is still in the cache
  size_t size_ = 0;
};

}  // namespace oncemq
