// SPDX-License-Identifier: Apache-2.0
#include "owned_ids.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "packed.h"

namespace oncemq {
namespace {

constexpr size_t kBaseBytes = 8;
constexpr size_t kIdBytes = OwnedIds::kDigestBytes + 4 + 3;
constexpr size_t kEntryBytes = kBaseBytes + OwnedIds::kMostIds * kIdBytes;
constexpr uint64_t kDistances = 1 << 24;
constexpr size_t kMostIndex = 255;  // of a slot
// A node of a stream has some 40 bytes of its own.
static_assert(kEntryBytes <= 4'096 - 64);

ZeroPages NewPages(size_t slots) {
  ZeroPages pages(slots * sizeof(uint64_t), /*huge=*/slots * sizeof(uint64_t) >= size_t{2} << 20);
  if (pages.data() == nullptr) {
    throw std::bad_alloc();
  }
  return pages;
}

size_t IdsIn(std::string_view bytes) {
  return (bytes.size() - kBaseBytes) / kIdBytes;
}

std::string_view IdBytes(std::string_view bytes, size_t index) {
  return bytes.substr(kBaseBytes + index * kIdBytes, kIdBytes);
}

int64_t BaseOf(std::string_view bytes) {
  return static_cast<int64_t>(PackedReader(bytes).Number(kBaseBytes));
}

uint64_t Distance(std::string_view bytes, int64_t offset) {
  return static_cast<uint64_t>(offset) - static_cast<uint64_t>(BaseOf(bytes));
}

OwnedIds::Id ReadId(std::string_view bytes, size_t index) {
  PackedReader reader(IdBytes(bytes, index).substr(OwnedIds::kDigestBytes));
  OwnedIds::Id id;
  id.fingerprint = static_cast<uint32_t>(reader.Number(4));
  id.offset = static_cast<int64_t>(static_cast<uint64_t>(BaseOf(bytes)) + reader.Number(3));
  return id;
}

bool IsEntry(std::string_view bytes) {
  return bytes.size() > kBaseBytes && (bytes.size() - kBaseBytes) % kIdBytes == 0 &&
         IdsIn(bytes) < kMostIndex;
}

uint64_t MillisOf(LogTime time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.time_since_epoch().count(), 0));
}

LogTime TimeOf(const StreamPosition& position) {
  return LogTime(milliseconds(static_cast<int64_t>(position.millis)));
}

}  // namespace

std::string ToString(const StreamPosition& position) {
  return std::to_string(position.millis) + "-" + std::to_string(position.number);
}

std::optional<StreamPosition> ParseStreamPosition(std::string_view text) {
  const size_t dash = text.find('-');
  const auto millis = ParseDecimal(text.substr(0, dash));
  const auto number = ParseDecimal(dash == text.npos ? "" : text.substr(dash + 1));
  if (!millis || !number || *millis < 0 || *number < 0) {
    return std::nullopt;
  }
  return StreamPosition{static_cast<uint64_t>(*millis), static_cast<uint64_t>(*number)};
}

size_t OwnedIds::Entry::ids() const {
  return IdsIn(bytes);
}

OwnedIds::OwnedIds()
    : pages_(NewPages(kFirstSlots)), table_(reinterpret_cast<uint64_t*>(pages_.data())) {}

uint64_t OwnedIds::Tag(std::string_view digest) {
  uint32_t tag = 0;
  std::memcpy(&tag, digest.data(), sizeof tag);
  return uint64_t{tag} << 32;
}

uint64_t OwnedIds::SlotOf(std::string_view digest, size_t entry, size_t index) const {
  const uint32_t number = (first_ + static_cast<uint32_t>(entry)) % kNumbers;
  return Tag(digest) | uint64_t{number} << 8 | (index + 1);
}

std::string_view OwnedIds::DigestAt(uint64_t slot) const {
  const uint32_t number = static_cast<uint32_t>(slot) >> 8;
  const Entry& entry = entries_[(number - first_) % kNumbers];
  return IdBytes(entry.bytes, (slot & 0xFF) - 1).substr(0, kDigestBytes);
}

void OwnedIds::Prefetch(std::string_view digest) const {
  __builtin_prefetch(&table_[Home(Tag(digest))]);
}

size_t OwnedIds::FindSlot(std::string_view digest) const {
  size_t i = Home(Tag(digest));
  while (table_[i] != 0 &&
         (Tag(digest) != table_[i] >> 32 << 32 || DigestAt(table_[i]) != digest)) {
    i = After(i);
  }
  return i;
}

std::optional<OwnedIds::Id> OwnedIds::Find(std::string_view digest) const {
  const uint64_t slot = table_[FindSlot(digest)];
  if (slot == 0) {
    return std::nullopt;
  }
  const size_t at = ((static_cast<uint32_t>(slot) >> 8) - first_) % kNumbers;
  const Entry& entry = entries_[at];
  const size_t index = (slot & 0xFF) - 1;
  Id id = ReadId(entry.bytes, index);
  id.completer = entry.completers.empty() ? 0 : entry.completers[index];
  id.kept_to = at < sealed_ ? TimeOf(entry.position) : entry.kept_to;
  return id;
}

OwnedIds::Entry& OwnedIds::EntryFor(int64_t offset) {
  if (entries_.size() > sealed_ && entries_.back().ids() < kMostIds &&
      Distance(entries_.back().bytes, offset) < kDistances) {
    return entries_.back();
  }
  ONCEMQ_CHECK(entries_.size() < kNumbers, "a partition has fewer entries than numbers");
  Entry& entry = entries_.emplace_back();
  // Offsets do not always rise.
  AppendPacked(entry.bytes, static_cast<uint64_t>(offset) - kDistances / 2, kBaseBytes);
  bytes_ += kBaseBytes;
  return entry;
}

void OwnedIds::Append(std::string_view digest, const Id& id) {
  Entry& entry = EntryFor(id.offset);
  entry.bytes.append(digest);
  AppendPacked(entry.bytes, id.fingerprint, 4);
  AppendPacked(entry.bytes, Distance(entry.bytes, id.offset), 3);
  entry.completers.push_back(id.completer);
  entry.kept_to = std::max(entry.kept_to, id.kept_to);
  entry.most = std::max(entry.most, id.offset);
  bytes_ += kIdBytes;
  Link(digest, entries_.size() - 1, entry.ids() - 1);
}

void OwnedIds::Link(std::string_view digest, size_t entry, size_t index) {
  if ((used_ + 1) * 3 > slots_ * 2) {
    Grow();
  }
  const size_t i = FindSlot(digest);
  used_ += table_[i] == 0 ? 1 : 0;
  table_[i] = SlotOf(digest, entry, index);
}

// Those after it that belong further up move there, so that a search may end at a free slot.
void OwnedIds::Unlink(uint64_t slot) {
  size_t hole = Home(slot);
  while (table_[hole] != slot) {
    if (table_[hole] == 0) {
      return;  // it is known by a later entry
    }
    hole = After(hole);
  }
  for (size_t i = After(hole); table_[i] != 0; i = After(i)) {
    const size_t from_home = (i - Home(table_[i])) & (slots_ - 1);
    if (from_home >= ((i - hole) & (slots_ - 1))) {
      table_[hole] = table_[i];
      hole = i;
    }
  }
  table_[hole] = 0;
  used_--;
}

void OwnedIds::Grow() {
  const ZeroPages old = std::exchange(pages_, NewPages(2 * slots_));
  const std::span<const uint64_t> all(table_, slots_);
  table_ = reinterpret_cast<uint64_t*>(pages_.data());
  slots_ *= 2;
  for (const uint64_t slot : all) {
    if (slot != 0) {
      size_t i = Home(slot);
      while (table_[i] != 0) {
        i = After(i);
      }
      table_[i] = slot;
    }
  }
}

void OwnedIds::Seal() {
  for (; sealed_ < entries_.size(); sealed_++) {
    Entry& entry = entries_[sealed_];
    last_ = {std::max(last_.millis, MillisOf(entry.kept_to)), last_.number + 1};
    entry.position = last_;
    entry.bytes.shrink_to_fit();
    entry.completers.shrink_to_fit();
  }
  ONCEMQ_CHECK(stored_ <= sealed_, "only a sealed entry is stored");
}

std::vector<const OwnedIds::Entry*> OwnedIds::Unstored() const {
  std::vector<const Entry*> unstored;
  for (size_t i = stored_; i < sealed_; i++) {
    unstored.push_back(&entries_[i]);
  }
  return unstored;
}

void OwnedIds::StoredTo(const StreamPosition& position) {
  while (stored_ < sealed_ && entries_[stored_].position <= position) {
    stored_++;
  }
  ONCEMQ_CHECK(sealed_ <= entries_.size(), "each sealed entry is in memory");
  stored_to_ = std::max(stored_to_, position);
}

// For the caller, who holds its lock, unstored ids stay known at each moment.
bool OwnedIds::Load(std::vector<Loaded> entries) {
  if (!std::all_of(entries.begin(), entries.end(),
                   [](const Loaded& one) { return IsEntry(one.bytes); })) {
    return false;
  }
  std::vector<Entry> unstored;
  for (size_t i = stored_; i < entries_.size(); i++) {
    UnlinkAll(i);
    bytes_ -= entries_[i].bytes.size();
    unstored.push_back(std::move(entries_[i]));
  }
  entries_.resize(stored_);
  sealed_ = stored_;
  for (Loaded& one : entries) {
    LoadOne(std::move(one));
  }
  for (const Entry& entry : unstored) {
    AppendAgain(entry);
  }
  return true;
}

void OwnedIds::LoadOne(Loaded loaded) {
  ONCEMQ_CHECK(entries_.size() < kNumbers, "a partition has fewer entries than numbers");
  Entry& entry = entries_.emplace_back();
  entry.bytes = std::move(loaded.bytes);
  entry.position = loaded.position;
  stored_ = sealed_ = entries_.size();
  for (size_t i = 0; i < entry.ids(); i++) {
    Prefetch(IdBytes(entry.bytes, i));
  }
  for (size_t i = 0; i < entry.ids(); i++) {
    entry.most = std::max(entry.most, ReadId(entry.bytes, i).offset);
    Link(IdBytes(entry.bytes, i).substr(0, kDigestBytes), entries_.size() - 1, i);
  }
  bytes_ += entry.bytes.size();
  last_ = std::max(last_, entry.position);
  stored_to_ = std::max(stored_to_, entry.position);
}

// The loaded ids may be the same, by a request of ours without an answer.
void OwnedIds::AppendAgain(const Entry& entry) {
  ONCEMQ_CHECK(entry.completers.size() == entry.ids(), "an unstored entry was made here");
  for (size_t i = 0; i < entry.ids(); i++) {
    const std::string_view digest = IdBytes(entry.bytes, i).substr(0, kDigestBytes);
    const auto known = Find(digest);
    if (!known || known->kept_to < entry.kept_to) {
      Id id = ReadId(entry.bytes, i);
      id.completer = entry.completers[i];
      id.kept_to = entry.kept_to;
      Append(digest, id);
    }
  }
}

void OwnedIds::SetLast(const StreamPosition& last) {
  last_ = std::max(stored_to_, last);
  sealed_ = stored_;
}

size_t OwnedIds::Aged(LogTime limit, int64_t frontier, size_t most) const {
  size_t count = 0;
  while (count < std::min(most, stored_) && TimeOf(entries_[count].position) < limit &&
         entries_[count].most < frontier) {
    count++;
  }
  return count;
}

void OwnedIds::Drop(size_t entries) {
  ONCEMQ_CHECK(entries <= stored_, "only a stored entry is forgotten");
  for (size_t i = 0; i < entries; i++) {
    UnlinkAll(0);
    bytes_ -= entries_.front().bytes.size();
    entries_.pop_front();
    first_ = (first_ + 1) % kNumbers;
  }
  stored_ -= entries;
  sealed_ -= entries;
}

void OwnedIds::UnlinkAll(size_t entry) {
  const std::string_view bytes = entries_[entry].bytes;
  for (size_t i = 0; i < IdsIn(bytes); i++) {
    Unlink(SlotOf(IdBytes(bytes, i).substr(0, kDigestBytes), entry, i));
  }
}

size_t OwnedIds::unstored() const {
  size_t ids = 0;
  for (size_t i = stored_; i < entries_.size(); i++) {
    ids += entries_[i].ids();
  }
  return ids;
}

size_t OwnedIds::memory_bytes() const {
  return bytes_ + entries_.size() * sizeof(Entry) + slots_ * sizeof(uint64_t);
}

bool OwnedIds::ForEach(std::string_view bytes,
                       const std::function<void(std::string_view, const Id&)>& take) {
  if (!IsEntry(bytes)) {
    return false;
  }
  for (size_t i = 0; i < IdsIn(bytes); i++) {
    take(IdBytes(bytes, i).substr(0, kDigestBytes), ReadId(bytes, i));
  }
  return true;
}

}  // namespace oncemq
