// SPDX-License-Identifier: Apache-2.0
#include "done_ids.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "marker_table.h"
#include "oncemq/base/check.h"

namespace oncemq {

// In front of each record's id and result. Words of 4 bytes, so that records need no wider
// alignment.
struct DoneIds::Head {
  uint32_t id_bytes;
  uint32_t result_bytes;
  uint32_t fingerprint;
  uint32_t source;
  int32_t partition;
  std::array<uint32_t, 2> offset;
  std::array<uint32_t, 4> token;
};

DoneIds::DoneIds(uint32_t remember)
    : remember_(remember),
      slice_ids_((remember + 7) / 8),
      buckets_((size_t{remember} * 2 + Bucket::Tags::kCount - 1) / Bucket::Tags::kCount + 1),
      pages_(buckets_ * sizeof(Bucket)),
      table_(reinterpret_cast<Bucket*>(pages_.data())) {
  static_assert(sizeof(Bucket) == 64);
  static_assert(sizeof(Head) + sizeof(BootTime) + kMaxRecord <= kChunkBytes);
  ONCEMQ_CHECK(remember > 0, "a window remembers something");
}

void DoneIds::PrefetchRecord(uint64_t hash) const {
  const Bucket& bucket = table_[Home(hash)];
  if (const uint64_t matches = bucket.tags.Matches(Tag(hash)); matches != 0) {
    const size_t index = Bucket::Tags::IndexOf(matches);
    if (Lives(bucket.slices[index])) {
      const char* record = RecordOf(bucket, index);
      __builtin_prefetch(record);
      __builtin_prefetch(record + 64);
    }
  }
}

std::optional<DoneRecord> DoneIds::Find(uint64_t hash, std::string_view id, BootTime now,
                                        const Coordinates* within) const {
  for (size_t at = Home(hash);; at = After(at)) {
    const Bucket& bucket = table_[at];
    for (uint64_t left = bucket.tags.Matches(Tag(hash)); left != 0; left &= left - 1) {
      const size_t index = Bucket::Tags::IndexOf(left);
      if (!Lives(bucket.slices[index])) {
        continue;
      }
      const char* record = RecordOf(bucket, index);
      Head head;
      std::memcpy(&head, record, sizeof head);
      const char* bytes = record + sizeof head;
      const bool same_id = std::string_view(bytes, head.id_bytes) == id;
      if (same_id && IsWithin(within, head.source, head.partition)) {
        const auto offset = std::bit_cast<int64_t>(head.offset);
        DoneRecord done{{head.source, head.partition, offset},
                        std::bit_cast<Token>(head.token),
                        head.fingerprint,
                        {bytes + head.id_bytes, head.result_bytes}};
        if (head.partition == kNoPartition) {
          std::memcpy(&done.ends, done.result.data() + done.result.size(), sizeof done.ends);
        }
        if (done.ends > now) {
          return done;
        }
      }
    }
    if (!Passed(bucket)) {
      return std::nullopt;
    }
  }
}

void DoneIds::Append(uint64_t hash, std::string_view id, const DoneRecord& record) {
  ONCEMQ_CHECK(id.size() + record.result.size() <= kMaxRecord, "the window bounds both");
  uint32_t offset = 0;
  const bool ends = record.at.partition == kNoPartition;
  char* place = Reserve(
      sizeof(Head) + id.size() + record.result.size() + (ends ? sizeof record.ends : 0), &offset);
  // Made where it stays: a copy of fields that were stored just now waits for the stores.
  ::new (place) Head{static_cast<uint32_t>(id.size()),
                     static_cast<uint32_t>(record.result.size()),
                     record.fingerprint,
                     record.at.source,
                     record.at.partition,
                     std::bit_cast<std::array<uint32_t, 2>>(record.at.offset),
                     std::bit_cast<std::array<uint32_t, 4>>(record.token)};
  char* const bytes_after = place + sizeof(Head);
  std::memcpy(bytes_after, id.data(), id.size());
  char* const end = std::copy(record.result.begin(), record.result.end(), bytes_after + id.size());
  if (ends) {
    std::memcpy(end, &record.ends, sizeof record.ends);
  }
  Link(hash, offset);
  slices_[newest_].ids++;
  known_++;
  ForgetOldest();
}

void DoneIds::Link(uint64_t hash, uint32_t offset) {
  for (size_t at = Home(hash);; at = After(at)) {
    Bucket& bucket = table_[at];
    uint64_t free = bucket.tags.Matches(0);
    if (free == 0) {
      Bury(bucket);
      free = bucket.tags.Matches(0);
    }
    if (free != 0) {
      const size_t index = Bucket::Tags::IndexOf(free);
      bucket.tags.Set(index, Tag(hash));
      bucket.offsets[index] = offset;
      bucket.slices[index] = newest_;
      return;
    }
    bucket.passed = true;
    bucket.passed_in = newest_;
  }
}

// A record lies in one chunk.
char* DoneIds::Reserve(size_t bytes, uint32_t* offset) {
  bytes = (bytes + kUnit - 1) / kUnit * kUnit;
  if (slices_[newest_].ids == slice_ids_ || slices_[newest_].used + 2 * kChunkBytes > kMaxSlice) {
    NextSlice();
  }
  Slice& slice = slices_[newest_];
  const size_t in_chunk = slice.used % kChunkBytes;
  if (in_chunk + bytes > kChunkBytes) {
    slice.used += kChunkBytes - in_chunk;
  }
  if (slice.used == slice.chunks.size() * kChunkBytes) {
    slice.chunks.emplace_back(new char[kChunkBytes]);
  }
  *offset = static_cast<uint32_t>(slice.used / kUnit);
  char* place = slice.At(slice.used);
  slice.used += bytes;
  // The next records are written to memory that was left long ago: without this each of them waits
  // for it.
  __builtin_prefetch(place + 1024, 1);
  __builtin_prefetch(place + 1088, 1);
  return place;
}

// Forgets the slices without which enough ids are known.
void DoneIds::ForgetOldest() {
  while (live_ > 1) {
    Slice& oldest = slices_[static_cast<uint8_t>(newest_ - live_ + 1)];
    if (known_ - oldest.ids < remember_) {
      return;
    }
    ONCEMQ_CHECK(known_ >= oldest.ids, "the slices hold what is known");
    known_ -= oldest.ids;
    live_--;
    spare_ = std::exchange(oldest, Slice{}).chunks;
  }
}

// Numbers come round after 256 slices; until then every bucket has been swept many times, so no
// dead entry ever seems to be of a living slice.
void DoneIds::NextSlice() {
  newest_++;
  live_++;
  ONCEMQ_CHECK(live_ < 128, "a slice is an eighth of the ids, or gigabytes");
  slices_[newest_].chunks = std::exchange(spare_, {});
  for (size_t i = 0; i < buckets_ / 16 + 1; i++) {
    Bury(table_[swept_]);
    swept_ = After(swept_);
  }
}

// Frees the entries of forgotten slices.
void DoneIds::Bury(Bucket& bucket) const {
  bucket.tags.KeepIf([&](size_t i) { return Lives(bucket.slices[i]); });
  bucket.passed = Passed(bucket);
}

size_t DoneIds::memory_bytes() const {
  size_t bytes = buckets_ * sizeof(Bucket) + spare_.size() * kChunkBytes;
  for (const Slice& slice : slices_) {
    bytes += slice.chunks.size() * kChunkBytes;
  }
  return bytes;
}

}  // namespace oncemq
