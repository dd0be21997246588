// SPDX-License-Identifier: Apache-2.0
// Frontier: which deliveries of one partition are finished, and how far a commit may go.
//
// Promise: offset() is the lowest offset that is not finished; it never falls within one Start().
// Deliveries are counted by arrival, not by offset: holes of compaction cost nothing and the same
// offset twice is two deliveries. Snapshot() is one value (offset, map, totals), read at one
// moment: parts of two moments would lose messages. Memory: 9 bytes per arrival above the frontier,
// grown on demand up to `span`.
//
// Thread safety: none; lives inside the core.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oncemq/base/check.h"
#include "oncemq/ordering/offset_map.h"
#include "oncemq/ordering/verdict.h"

namespace oncemq {

struct FrontierSnapshot {
  int64_t offset = 0;  // everything below it is finished
  OffsetMap map;       // finished above it; cut to fit if need be, never widened
  OffsetMap not_done;  // of these, refused or parked: finished, but not done
  Totals totals;       // outcomes of exactly the offsets that offset and map call finished
  bool cut = false;    // the map had to be shortened: some finished offsets will come again
};

class Frontier {
 public:
  explicit Frontier(uint32_t span) : span_(span) {}

  // A new assignment begins at `next`. `carried` are finished offsets above it, `not_done` those of
  // them that are not done, and `totals` the outcomes of all that the last commit called finished,
  // carried ones included.
  void Start(int64_t next, OffsetMap carried, OffsetMap not_done, const Totals& totals);

  struct Arrival {
    uint32_t number;  // names this delivery in Finish(); wraps around
    bool finished;    // the last commit's map says that it is finished: do not run it
    bool not_done;    // and that it is not done: its id must not be taken for done
    bool again;       // a rewound source: the first arrival of the offset speaks for it, and this
                      // one must not be given to Finish()
  };
  // Precondition: room() > 0.
  Arrival Add(int64_t offset) {
    const bool finished = !carried_.empty() && carried_.Contains(offset);
    const bool not_done =
        finished && !carried_not_done_.empty() && carried_not_done_.Contains(offset);
    if (offset < next_) {
      return {0, finished, not_done, true};
    }
    if (end_ - base_ == offsets_.size()) {
      Grow();
    }
    offsets_[end_ & mask_] = offset;
    // A carried delivery is open until its marker is known to be there; the map keeps calling it
    // finished meanwhile.
    verdicts_[end_ & mask_] = finished ? Verdict::kOpenCarried : Verdict::kOpen;
    next_ = offset + 1;
    return {end_++, finished, not_done, false};
  }
  // Precondition: it is open.
  void Finish(uint32_t number, Verdict verdict) {
    Verdict& slot = verdicts_[number & mask_];
    ONCEMQ_CHECK(IsOpen(slot), "an arrival is finished once");
    slot = slot == Verdict::kOpenCarried ? Verdict::kCarried : verdict;
  }

  // No arrival below `end` is still to come: what is missing there is a hole. Whether that is news.
  bool PassHole(int64_t end) {
    if (end <= next_) {
      return false;
    }
    next_ = end;
    return true;
  }

  // Moves over finished arrivals; returns the offset.
  int64_t Advance();
  int64_t offset() const { return offset_; }
  bool Finished(int64_t offset) const;
  int64_t next_offset() const { return next_; }  // the lowest that may still arrive
  uint32_t room() const { return span_ - (end_ - base_); }
  uint32_t arrivals() const { return end_ - base_; }  // finished or not, above the frontier
  const Totals& totals() const { return totals_; }  // of what lies below the frontier, and carried

  // Outcomes beyond the finished offsets from `since` on. Above 0 an offset was counted twice. A
  // hole has no outcome, so it may lie below.
  int64_t Surplus(int64_t since) const;

  FrontierSnapshot Snapshot(size_t max_map_bytes);

 private:
  void Grow();
  OffsetMap MapWithin(size_t max_bytes, uint32_t& limit) const;
  struct FinishedRun {
    uint32_t end;  // the first arrival behind it
    size_t bytes;
    bool cut;  // it goes on, but there is no room
  };
  FinishedRun RunWithin(uint32_t first, size_t room) const;
  OffsetMap NotDoneBefore(uint32_t limit) const;

  std::vector<int64_t> offsets_;  // rings, indexed by arrival number & mask_
  std::vector<Verdict> verdicts_;
  OffsetMap carried_;
  OffsetMap carried_not_done_;
  Totals totals_;
  uint32_t span_;
  uint32_t mask_ = 0;
  uint32_t base_ = 0;  // first arrival that is not finished
  uint32_t end_ = 0;
  int64_t offset_ = 0;
  int64_t next_ = 0;
};

}  // namespace oncemq
