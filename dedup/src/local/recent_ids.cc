// SPDX-License-Identifier: Apache-2.0
#include "recent_ids.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

uint64_t TagOf(uint64_t hash) {
  return hash >> 32 << 32;
}

uint64_t Entry(uint64_t hash, uint32_t slot) {
  return TagOf(hash) | (slot + 1);
}

uint32_t SlotOf(uint64_t entry) {
  return static_cast<uint32_t>(entry) - 1;
}

}  // namespace

RecentIds::RecentIds(const KeyedHash& hasher)
    : hasher_(hasher),
      pages_(NewPages(entries_ * sizeof(uint64_t), /*huge=*/false)),
      table_(reinterpret_cast<uint64_t*>(pages_.data())) {}

ZeroPages RecentIds::NewPages(size_t bytes, bool huge) {
  ZeroPages pages(bytes, huge);
  if (pages.data() == nullptr) {
    throw std::bad_alloc();
  }
  return pages;
}

std::optional<IdRecord> RecentIds::Find(uint64_t hash, std::string_view id, bool digest) const {
  for (size_t i = Home(hash); table_[i] != 0; i = (i + 1) & (entries_ - 1)) {
    if (TagOf(table_[i]) != TagOf(hash)) {
      continue;
    }
    const IdRecord record = At(SlotOf(table_[i]));
    const bool same = record.id == id;
    if (same && record.digest == digest) {
      return record;
    }
  }
  return std::nullopt;
}

void RecentIds::Append(std::string_view record, uint64_t hash) {
  if ((size_ + 1) * 3 > entries_ * 2) {
    Grow();
  }
  const uint32_t slot = Reserve(record.size());
  std::memcpy(const_cast<char*>(Address(slot)), record.data(), record.size());
  Link(Entry(hash, slot));
  size_++;
}

bool RecentIds::AppendAll(std::string_view records) {
  size_t taken = 0;
  for (std::string_view left = records; !left.empty(); left.remove_prefix(taken)) {
    if (!ReadRecord(left, &taken)) {
      return false;
    }
  }
  for (std::string_view left = records; !left.empty(); left.remove_prefix(taken)) {
    const IdRecord record = *ReadRecord(left, &taken);
    Append(left.substr(0, taken), hasher_(record.id));
  }
  return true;
}

uint32_t RecentIds::Reserve(size_t bytes) {
  ONCEMQ_CHECK(bytes <= kChunkBytes, "a record fits into a chunk");
  if (chunks_.empty() || used_.back() + bytes > kChunkBytes) {
    // The first few may stay almost empty, in each of a thousand stores.
    chunks_.push_back(NewPages(kChunkBytes, /*huge=*/chunks_.size() >= kSmallChunks));
    used_.push_back(0);
  }
  const size_t at = (chunks_.size() - 1) * kChunkBytes + used_.back();
  ONCEMQ_CHECK(at / kRecordUnit < UINT32_MAX, "a generation is put away long before");
  used_.back() += bytes;
  return static_cast<uint32_t>(at / kRecordUnit);
}

void RecentIds::Link(uint64_t entry) {
  size_t i = Home(entry);
  while (table_[i] != 0) {
    i = (i + 1) & (entries_ - 1);
  }
  table_[i] = entry;
}

void RecentIds::Grow() {
  const ZeroPages old = std::exchange(pages_, NewPages(2 * entries_ * sizeof(uint64_t), true));
  const std::span<const uint64_t> entries(table_, entries_);
  table_ = reinterpret_cast<uint64_t*>(pages_.data());
  entries_ *= 2;
  for (const uint64_t entry : entries) {
    if (entry != 0) {
      Link(entry);
    }
  }
}

IdRecord RecentIds::At(uint32_t slot) const {
  const size_t at = size_t{slot} * kRecordUnit;
  const std::string_view rest(Address(slot), used_[at / kChunkBytes] - at % kChunkBytes);
  size_t taken = 0;
  const auto record = ReadRecord(rest, &taken);
  ONCEMQ_CHECK(record.has_value(), "a record was read before it was taken over");
  return *record;
}

std::vector<RecentIds::Sorted> RecentIds::Sort() const {
  std::vector<Sorted> sorted;
  sorted.reserve(size_);
  for (const uint64_t entry : std::span<const uint64_t>(table_, entries_)) {
    if (entry != 0) {
      sorted.push_back({hasher_(At(SlotOf(entry)).id), SlotOf(entry)});
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Sorted& a, const Sorted& b) { return a.hash < b.hash; });
  return sorted;
}

uint64_t RecentIds::bytes_to_put_away() const {
  constexpr uint64_t kBesidesRecord = 40;
  const bool small = chunks_.size() <= kSmallChunks;
  const size_t unused = chunks_.empty() || !small ? 0 : kChunkBytes - used_.back();
  return chunks_.size() * kChunkBytes - unused + size_ * kBesidesRecord;
}

size_t RecentIds::memory_bytes() const {
  return entries_ * sizeof(uint64_t) + chunks_.size() * kChunkBytes;
}

}  // namespace oncemq
