// SPDX-License-Identifier: Apache-2.0
// What travels with every committed offset, as text of at most 4,096 bytes (docs/formats.md). A
// commit without it is an operator's act (rule 5): nothing below its offset is believed to be
// finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/ordering/frontier.h"
#include "oncemq/ordering/offset_map.h"
#include "oncemq/ordering/verdict.h"

namespace oncemq {

inline constexpr size_t kMaxCommitMetadata = 4096;
inline constexpr size_t kMaxAbandoned = 64;  // offsets
inline constexpr size_t kMaxSkipped = 32;    // ranges
inline constexpr size_t kMaxKillers = 8;     // messages

// Deaths of owners, and the messages in their hands (rule 12, docs/failures.md). A member of an
// earlier version repeats it without harm.
struct DeathNotes {
  struct Killer {
    int64_t offset = 0;
    uint32_t deaths = 0;  // of processes with this message alone
    friend bool operator==(const Killer&, const Killer&) = default;
  };

  // Unclean ends in a row, with the frontier below `cautious_to`. From the second one on,
  // unfinished messages below it are suspects. Both are 0 after a clean end.
  uint32_t unclean_ends = 0;
  int64_t cautious_to = 0;
  std::vector<Killer> killers;
  // A message alone with a worker of the writer, and nothing else runs there.
  std::optional<int64_t> alone;

  friend bool operator==(const DeathNotes&, const DeathNotes&) = default;
};

// All refusals of offsets from `from` on are on record in the park topic. `refused` is the count of
// refusals in the totals of the same commit. After a member without park topics has refused more,
// the counts differ, and it says nothing.
struct RefusalsOnRecord {
  int64_t from = 0;
  int64_t refused = 0;

  friend bool operator==(const RefusalsOnRecord&, const RefusalsOnRecord&) = default;
};

// Members of version 1 don't know them.
struct OptionalFields {
  std::optional<RefusalsOnRecord> on_record;
  std::string carried;  // of a newer version, as they were written

  friend bool operator==(const OptionalFields&, const OptionalFields&) = default;
};

struct CommitMetadata : DeathNotes {
  uint64_t scope = 0;            // stable hash of app / namespace / group / handler
  uint32_t recipe = 1;           // version of the id and key recipe
  uint64_t source_identity = 0;  // which log this offset belongs to
  uint64_t owner_epoch = 0;      // ownership fence of the writer
  // of the store that it rests on (StoreKnowledge in window.h); 0: none
  uint64_t incarnation = 0;
  int64_t since = 0;  // the oldest offset that this scope's records cover
  int64_t top = 0;    // the highest offset ever committed
  // The owner gave the partition back in order: it has begun nothing that is unfinished but the
  // offsets of `abandoned`, whose handlers may still run or may have had their effect.
  bool clean = false;
  std::vector<int64_t> abandoned;
  // Of a commit that is not clean (rule 11). No handler was called at or above `reserved` before a
  // later commit was acknowledged; nothing: the commit does not say. Below `inherited` an earlier
  // owner may have begun messages of which the window of this one knows nothing; 0: none.
  std::optional<int64_t> reserved;
  int64_t inherited = 0;
  OffsetMap skipped;  // ranges that an operator passed over: not finished
  Totals totals;      // of the finished offsets: below the commit, and in the map
  // Of these offsets, by all owners since `since`: calls that may have made an effect twice.
  int64_t uncertain = 0;
  OptionalFields optional;
  OffsetMap map;       // finished above the commit
  OffsetMap not_done;  // of these, refused or parked: nobody may take their ids for done (rule 4)

  int64_t refused() const { return totals.parked + totals.rejected; }
  // The difference of the second identity, for a commit at `offset`. Markers of transactions,
  // aborted and compacted messages have no outcome. Below 0 the totals are wrong.
  int64_t OffsetsWithoutOutcome(int64_t offset) const {
    return offset - since + map.count() - totals.sum();
  }
  // From this offset on all refusals are on record, if the commit says so.
  std::optional<int64_t> RecordedFrom() const {
    const auto& record = optional.on_record;
    return record && record->refused == refused() ? std::optional(record->from) : std::nullopt;
  }

  friend bool operator==(const CommitMetadata&, const CommitMetadata&) = default;
};

// Bytes that map and not_done may use next to everything else in `metadata`, and next to the death
// notes of a commit to come. A map from an earlier version may be larger, and still fit.
size_t MapBudget(const CommitMetadata& metadata);
bool MapFits(const FrontierSnapshot& snapshot, const CommitMetadata& metadata);

// One range from the first to the last that was skipped: shorter, and it may only call finished
// offsets unfinished.
void CloseUpSkipped(CommitMetadata& metadata);

// Precondition: MapFits(). Without `uncertain`, notes and `optional` members of version 1 read
// it, too.
std::string EncodeCommit(const CommitMetadata& metadata, int64_t offset);

// kNotFound: not ours at all. kInvalid: a newer version wrote it, or it holds values outside their
// bounds, so the partition must not start. kCorrupt: its checksum does not match.
//
// A field with a capital initial is required: a version without it refuses the commit. Any other
// unknown field is carried: this version writes it again unchanged. So a field that turns false
// when an older member repeats it must be required.
Result<CommitMetadata> DecodeCommit(std::string_view text, int64_t offset);

}  // namespace oncemq
