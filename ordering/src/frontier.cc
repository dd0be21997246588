// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/frontier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/mutant.h"

namespace oncemq {

void Frontier::Start(int64_t next, OffsetMap carried, const Totals& totals) {
  carried_ = std::move(carried);
  totals_ = totals;
  base_ = end_ = 0;
  offset_ = next_ = next;
}

Frontier::Arrival Frontier::Add(int64_t offset) {
  if (end_ - base_ == offsets_.size()) {
    Grow();
  }
  const bool finished = !carried_.empty() && carried_.Contains(offset);
  offsets_[end_ & mask_] = offset;
  // A carried delivery is open until its marker is known to be there; the map keeps calling it finished meanwhile.
  verdicts_[end_ & mask_] = finished || offset < next_ ? Verdict::kOpenAgain : Verdict::kOpen;
  next_ = std::max(next_, offset + 1);
  return {end_++, finished};
}

void Frontier::Finish(uint32_t number, Verdict verdict) {
  Verdict& slot = verdicts_[number & mask_];
  slot = slot == Verdict::kOpenAgain ? Verdict::kCarried : verdict;
}

int64_t Frontier::Advance() {
  while (base_ != end_ && !IsOpen(verdicts_[base_ & mask_])) {
    totals_.Count(verdicts_[base_ & mask_]);
    base_++;
  }
  // A rewound source delivers finished offsets again: they are open arrivals below the frontier and must not pull it back.
  offset_ = std::max(offset_, base_ == end_ ? next_ : offsets_[base_ & mask_]);
  if (ONCEMQ_MUTANT("commit-highest")) {
    offset_ = next_;
  }
  return offset_;
}

FrontierSnapshot Frontier::Snapshot(size_t max_map_bytes) {
  Advance();
  if (!carried_.empty() && carried_.ranges().back().to <= offset_) {
    carried_ = {};
  }
  FrontierSnapshot snapshot{offset_, {}, totals_, false};
  if (base_ == end_ && carried_.empty()) {
    return snapshot;
  }
  uint32_t limit = end_;
  snapshot.map = MapUpTo(limit);
  if (snapshot.map.Encode(offset_).size() > max_map_bytes) {
    // Cut from the top: a finished offset that is left out comes again and is suppressed by its marker. What was carried
    // stays, because its outcome is in the totals already; alone it fitted before.
    uint32_t low = 0;
    uint32_t high = end_ - base_;
    while (low < high) {
      const uint32_t middle = low + (high - low + 1) / 2;
      if (MapUpTo(base_ + middle).Encode(offset_).size() <= max_map_bytes) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    limit = base_ + low;
    snapshot.map = MapUpTo(limit);
    snapshot.cut = true;
  }
  for (uint32_t i = base_; i != limit; i++) {
    snapshot.totals.Count(verdicts_[i & mask_]);
  }
  return snapshot;
}

OffsetMap Frontier::MapUpTo(uint32_t limit) const {
  OffsetMap map;
  int64_t at = offset_;
  auto append = [&](int64_t from, int64_t to) {
    if (from = std::max(from, at); from < to) {
      map.Append(from, to);
      at = to;
    }
  };
  auto carried = carried_.ranges().begin();
  const auto carried_end = carried_.ranges().end();
  for (uint32_t i = base_; i != end_;) {
    const bool counts = i - base_ < limit - base_;
    const Verdict verdict = verdicts_[i & mask_];
    if (IsOpen(verdict) || (verdict != Verdict::kCarried && !counts)) {
      i++;
      continue;
    }
    const int64_t from = offsets_[i & mask_];
    int64_t to = from + 1;
    for (i++; i != end_; i++) {
      const Verdict next = verdicts_[i & mask_];
      const int64_t offset = offsets_[i & mask_];
      const bool takes =
          next == Verdict::kCarried || (!IsOpen(next) && i - base_ < limit - base_);
      if (!takes || offset < to) {
        break;
      }
      to = offset + 1;
    }
    for (; carried != carried_end && carried->to <= from; ++carried) {
      append(carried->from, carried->to);
    }
    append(from, to);
  }
  for (; carried != carried_end; ++carried) {
    append(carried->from, carried->to);
  }
  return map;
}

std::vector<int64_t> Frontier::OpenOffsets(size_t limit) const {
  std::vector<int64_t> open;
  for (uint32_t i = base_; i != end_ && open.size() < limit; i++) {
    if (IsOpen(verdicts_[i & mask_])) {
      open.push_back(offsets_[i & mask_]);
    }
  }
  return open;
}

void Frontier::Grow() {
  ONCEMQ_CHECK(room() > 0, "the span bounds what may be admitted");
  const auto size = static_cast<uint32_t>(std::max<size_t>(1024, offsets_.size() * 2));
  std::vector<int64_t> offsets(size);
  std::vector<Verdict> verdicts(size, Verdict::kOpen);
  for (uint32_t i = base_; i != end_; i++) {
    offsets[i & (size - 1)] = offsets_[i & mask_];
    verdicts[i & (size - 1)] = verdicts_[i & mask_];
  }
  offsets_ = std::move(offsets);
  verdicts_ = std::move(verdicts);
  mask_ = size - 1;
}

}  // namespace oncemq
