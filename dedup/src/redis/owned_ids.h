// SPDX-License-Identifier: Apache-2.0
// OwnedIds: the finished ids of a partition that owns them, as its stream in Redis has them: in
// entries, the oldest first.
//
//   ids.Append(digest, {.offset = 17, .kept_to = time});
//   ids.Seal();                              // gives the new ones their positions in the stream
//   for (const auto* entry : ids.Unstored()) ...  // is sent
//   ids.StoredTo(entry->position);              // the stream has it
//
// An entry is the offset that it counts from (8 bytes), and for each id its digest (16), its
// fingerprint (4) and its distance to that offset (3); numbers highest byte first. An entry with
// the most ids just fits into one node of a stream, and that into 4,096 bytes of Redis' memory.
//
// Memory: the entries, 4 bytes more for each id that was finished here, and 12 to 24 of table for
// each id. It grows with use; the table is kept.
//
// Thread safety: none; the partition that owns it locks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../zero_pages.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

// The id of an entry in its stream. Both numbers never fall, and the second one rises.
struct StreamPosition {
  uint64_t millis = 0;  // no id of the entry is filed under a later log time
  uint64_t number = 0;  // of the entry, in the life of the stream
  auto operator<=>(const StreamPosition&) const = default;
};
std::string ToString(const StreamPosition& position);
std::optional<StreamPosition> ParseStreamPosition(std::string_view text);

class OwnedIds {
 public:
  static constexpr size_t kDigestBytes = 16;
  static constexpr size_t kMostIds = 172;  // of an entry

  struct Id {
    int64_t offset = -1;
    uint32_t fingerprint = 0;
    uint32_t completer = 0;  // of its token; 0: restored, or finished elsewhere
    LogTime kept_to;         // of a copy up to this time it need not be appended again
  };
  struct Entry {
    std::string bytes;
    std::vector<uint32_t> completers;  // none: it was loaded
    LogTime kept_to;                   // the latest of its ids
    int64_t most = -1;                 // the highest offset
    StreamPosition position;           // once it is sealed
    size_t ids() const;
  };
  struct Loaded {
    StreamPosition position;
    std::string bytes;
  };

  OwnedIds();

  void Prefetch(std::string_view digest) const;
  std::optional<Id> Find(std::string_view digest) const;
  // One that is known is replaced.
  void Append(std::string_view digest, const Id& id);

  void Seal();
  // Sealed ones, in the order of their positions. Valid until they are dropped, or others are
  // loaded.
  std::vector<const Entry*> Unstored() const;
  void StoredTo(const StreamPosition& position);

  // Entries of the stream, after those that it is known to have. False: one is not ours.
  bool Load(std::vector<Loaded> entries);
  // The position in the stream after which new entries come. Unstored ones get another one: the
  // former owner may have had theirs.
  void SetLast(const StreamPosition& last);
  // Of the entries that the stream is known to have.
  const StreamPosition& stored_to() const { return stored_to_; }

  // How many entries at the front may be forgotten: stored, below both, at most `most`.
  size_t Aged(LogTime limit, int64_t frontier, size_t most) const;
  const Entry& at(size_t index) const { return entries_[index]; }
  void Drop(size_t entries);

  size_t known() const { return used_; }
  size_t unstored() const;  // ids
  size_t memory_bytes() const;

  // Each id of an entry as the stream has it. False: it is not ours.
  static bool ForEach(std::string_view bytes,
                      const std::function<void(std::string_view digest, const Id&)>& take);

 private:
  static constexpr size_t kFirstSlots = 1024;
  static constexpr uint32_t kNumbers = 1u << 24;  // of entries in memory, then from 0 again

  // A slot: 32 bits of the digest, 24 of the number of its entry, 8 of its index there plus 1.
  static uint64_t Tag(std::string_view digest);
  uint64_t SlotOf(std::string_view digest, size_t entry, size_t index) const;
  size_t Home(uint64_t slot) const { return (slot >> 32) & (slots_ - 1); }
  size_t After(size_t slot) const { return (slot + 1) & (slots_ - 1); }
  std::string_view DigestAt(uint64_t slot) const;
  // Where the digest is, or the free slot for it.
  size_t FindSlot(std::string_view digest) const;
  void Link(std::string_view digest, size_t entry, size_t index);
  void Unlink(uint64_t slot);
  void UnlinkAll(size_t entry);
  void Grow();
  Entry& EntryFor(int64_t offset);
  void LoadOne(Loaded entry);
  void AppendAgain(const Entry& entry);

  std::deque<Entry> entries_;  // stored ones, then sealed ones, then those that grow
  size_t stored_ = 0;          // how many
  size_t sealed_ = 0;          // how many, those included
  uint32_t first_ = 0;         // number of the first entry
  size_t slots_ = kFirstSlots;
  ZeroPages pages_;
  uint64_t* table_;  // 0: free
  size_t used_ = 0;
  size_t bytes_ = 0;  // of entries
  StreamPosition last_;
  StreamPosition stored_to_;
};

}  // namespace oncemq
