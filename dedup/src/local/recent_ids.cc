// SPDX-License-Identifier: Apache-2.0
#include "recent_ids.h"

#include <algorithm>
#include <cstring>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

uint64_t TagOf(uint64_t hash) {
  return hash >> 32 << 32;
}

uint64_t Entry(uint64_t hash, uint32_t place) {
  return TagOf(hash) | (place + 1);
}

uint32_t PlaceOf(uint64_t entry) {
  return static_cast<uint32_t>(entry) - 1;
}

}  // namespace

RecentIds::RecentIds(const KeyedHash& hasher) : hasher_(hasher), table_(kFirstEntries) {}

std::optional<IdRecord> RecentIds::Find(uint64_t hash, std::string_view id, bool digest) const {
  for (size_t i = Home(hash); table_[i] != 0; i = (i + 1) & (table_.size() - 1)) {
    if (TagOf(table_[i]) != TagOf(hash)) {
      continue;
    }
    const IdRecord record = At(PlaceOf(table_[i]));
    if (record.id == id && record.digest == digest) {
      return record;
    }
  }
  return std::nullopt;
}

bool RecentIds::Append(std::string_view records) {
  size_t count = 0;
  size_t taken = 0;
  for (std::string_view left = records; !left.empty(); left.remove_prefix(taken)) {
    if (!ReadRecord(left, &taken)) {
      return false;
    }
    count++;
  }
  while ((size_ + count) * 3 > table_.size() * 2) {
    Grow();
  }
  for (std::string_view left = records; !left.empty(); left.remove_prefix(taken)) {
    const IdRecord record = *ReadRecord(left, &taken);
    const uint32_t place = Reserve(taken);
    std::memcpy(const_cast<char*>(Address(place)), left.data(), taken);
    Link(hasher_(record.id), place);
  }
  size_ += count;
  return true;
}

uint32_t RecentIds::Reserve(size_t bytes) {
  ONCEMQ_CHECK(bytes <= kChunkBytes, "a record fits into a chunk");
  if (chunks_.empty() || used_.back() + bytes > kChunkBytes) {
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(kChunkBytes));
    used_.push_back(0);
  }
  const size_t at = (chunks_.size() - 1) * kChunkBytes + used_.back();
  ONCEMQ_CHECK(at / kRecordUnit < UINT32_MAX, "a generation is put away long before");
  used_.back() += bytes;
  return static_cast<uint32_t>(at / kRecordUnit);
}

void RecentIds::Link(uint64_t hash, uint32_t place) {
  size_t i = Home(hash);
  while (table_[i] != 0) {
    i = (i + 1) & (table_.size() - 1);
  }
  table_[i] = Entry(hash, place);
}

// The tag is not the whole hash, so each record's is taken again.
void RecentIds::Grow() {
  std::vector<uint64_t> old(table_.size() * 2);
  old.swap(table_);
  for (const uint64_t entry : old) {
    if (entry != 0) {
      Link(hasher_(At(PlaceOf(entry)).id), PlaceOf(entry));
    }
  }
}

IdRecord RecentIds::At(uint32_t place) const {
  const size_t at = size_t{place} * kRecordUnit;
  const std::string_view rest(Address(place), used_[at / kChunkBytes] - at % kChunkBytes);
  size_t taken = 0;
  return *ReadRecord(rest, &taken);  // it was read before it was taken over
}

std::vector<RecentIds::Sorted> RecentIds::Sort() const {
  std::vector<Sorted> sorted;
  sorted.reserve(size_);
  for (const uint64_t entry : table_) {
    if (entry != 0) {
      sorted.push_back({hasher_(At(PlaceOf(entry)).id), PlaceOf(entry)});
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Sorted& a, const Sorted& b) { return a.hash < b.hash; });
  return sorted;
}

size_t RecentIds::memory_bytes() const {
  return table_.size() * sizeof(uint64_t) + chunks_.size() * kChunkBytes;
}

}  // namespace oncemq
