// SPDX-License-Identifier: Apache-2.0
#include "marker_table.h"

#include <cstring>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {

void MarkerTable::PrefetchMarker(uint64_t hash) const {
  const uint32_t tag = Tag(hash);
  const Bucket& bucket = buckets_[Home(tag)];
  if (const uint64_t matches = bucket.tags.Matches(tag); matches != 0) {
    const Slot& slot = At(bucket.slots[Bucket::Tags::IndexOf(matches)]);
    __builtin_prefetch(&slot);
    __builtin_prefetch(reinterpret_cast<const char*>(&slot) + 64);
  }
}

Marker* MarkerTable::Find(uint64_t hash, std::string_view id, const Coordinates* within) {
  const uint32_t tag = Tag(hash);
  for (size_t at = Home(tag);; at = After(at)) {
    const Bucket& bucket = buckets_[at];
    for (uint64_t left = bucket.tags.Matches(tag); left != 0; left &= left - 1) {
      Slot& slot = At(bucket.slots[Bucket::Tags::IndexOf(left)]);
      const bool same_id = slot.id() == id;
      if (same_id && IsWithin(within, slot.marker.at.source, slot.marker.at.partition)) {
        return &slot.marker;
      }
    }
    if (bucket.passed == 0) {
      return nullptr;
    }
  }
}

Marker* MarkerTable::Insert(uint64_t hash, std::string_view id) {
  ONCEMQ_CHECK(id.size() <= kMaxId, "the window refuses longer ids");
  if (size_ >= buckets_.size() * (Bucket::kCount + 1) / 2) {
    Grow();
  }
  const uint32_t number = NewSlot();
  Slot& slot = At(number);
  slot.marker = Marker{};
  slot.id_bytes = static_cast<uint16_t>(id.size());
  if (id.size() > kShortId && slot.long_id == nullptr) {
    slot.long_id.reset(new char[kMaxId]);
  }
  std::memcpy(id.size() > kShortId ? slot.long_id.get() : slot.short_id.data(), id.data(),
              id.size());
  Link(Tag(hash), number);
  size_++;
  return &slot.marker;
}

void MarkerTable::Erase(uint64_t hash, const Marker* marker) {
  const uint32_t tag = Tag(hash);
  for (size_t at = Home(tag);; at = After(at)) {
    Bucket& bucket = buckets_[at];
    for (uint64_t left = bucket.tags.Matches(tag); left != 0; left &= left - 1) {
      const size_t i = Bucket::Tags::IndexOf(left);
      if (&At(bucket.slots[i]).marker == marker) {
        free_.push_back(bucket.slots[i]);
        bucket.tags.Set(i, 0);
        size_--;
        return;
      }
    }
    ONCEMQ_CHECK(bucket.passed > 0, "only a marker of this table is erased");
    bucket.passed--;
  }
}

size_t MarkerTable::memory_bytes() const {
  return buckets_.size() * sizeof(Bucket) + chunks_.size() * kChunk * sizeof(Slot);
}

uint32_t MarkerTable::NewSlot() {
  if (free_.empty()) {
    const auto first = static_cast<uint32_t>(chunks_.size() * kChunk);
    chunks_.emplace_back(new Slot[kChunk]);
    free_.reserve(chunks_.size() * kChunk);
    for (uint32_t i = kChunk; i > 0; i--) {
      free_.push_back(first + i - 1);
    }
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void MarkerTable::Link(uint32_t tag, uint32_t slot) {
  for (size_t at = Home(tag);; at = After(at)) {
    Bucket& bucket = buckets_[at];
    if (const size_t i = Bucket::Tags::IndexOf(bucket.tags.Matches(0)); i < Bucket::kCount) {
      bucket.tags.Set(i, tag);
      bucket.slots[i] = slot;
      return;
    }
    bucket.passed++;
  }
}

void MarkerTable::Grow() {
  const std::vector<Bucket> old = std::exchange(buckets_, std::vector<Bucket>(buckets_.size() * 2));
  for (const Bucket& bucket : old) {
    for (size_t i = 0; i < Bucket::kCount; i++) {
      if (const auto tag = static_cast<uint32_t>(bucket.tags.Get(i)); tag != 0) {
        Link(tag, bucket.slots[i]);
      }
    }
  }
}

}  // namespace oncemq
