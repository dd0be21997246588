// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/frontier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

size_t VarintSize(int64_t value) {
  size_t size = 1;
  for (auto left = static_cast<uint64_t>(value); left >= 128; left >>= 7) {
    size++;
  }
  return size;
}

size_t EncodedSize(const OffsetMap& map, int64_t frontier) {
  return map.empty() ? 0 : map.Encode(std::min(frontier, map.ranges().front().from)).size();
}

}  // namespace

void Frontier::Start(int64_t next, OffsetMap carried, OffsetMap not_done, const Totals& totals) {
  carried_ = std::move(carried);
  carried_not_done_ = std::move(not_done);
  totals_ = totals;
  base_ = end_ = 0;
  offset_ = next_ = next;
}

int64_t Frontier::Advance() {
  while (base_ != end_ && !IsOpen(verdicts_[base_ & mask_])) {
    totals_.Count(verdicts_[base_ & mask_]);
    base_++;
  }
  const int64_t reached = base_ == end_ ? next_ : offsets_[base_ & mask_];
  ONCEMQ_CHECK(reached >= offset_, "the frontier never falls within one Start()");
  ONCEMQ_CHECK(reached <= next_, "the frontier passes no offset that may still arrive");
  offset_ = reached;
  return offset_;
}

int64_t Frontier::Surplus(int64_t since) const {
  int64_t carried = 0;  // above the frontier, with their outcomes in the totals
  for (const OffsetMap::Range& range : carried_.ranges()) {
    carried += std::max<int64_t>(range.to - std::max(range.from, offset_), 0);
  }
  return totals_.sum() - (offset_ - since) - carried;
}

bool Frontier::Finished(int64_t offset) const {
  if (offset < offset_ || offset >= next_) {
    return offset < offset_;
  }
  uint32_t low = base_;
  for (uint32_t count = end_ - base_; count > 0;) {
    const uint32_t half = count / 2;
    const bool below = offsets_[(low + half) & mask_] < offset;
    low += below ? half + 1 : 0;
    count = below ? count - half - 1 : half;
  }
  const bool there = low != end_ && offsets_[low & mask_] == offset;
  return !there || !IsOpen(verdicts_[low & mask_]);
}

FrontierSnapshot Frontier::Snapshot(size_t max_map_bytes) {
  Advance();
  if (!carried_.empty() && carried_.ranges().back().to <= offset_) {
    carried_ = carried_not_done_ = {};
  }
  FrontierSnapshot snapshot{offset_, {}, {}, totals_, false};
  if (base_ == end_ && carried_.empty()) {
    return snapshot;
  }
  uint32_t limit = end_;
  snapshot.map = MapWithin(max_map_bytes, limit);
  snapshot.not_done = NotDoneBefore(limit);
  snapshot.cut = limit != end_;
  for (uint32_t i = base_; i != limit; i++) {
    snapshot.totals.Count(verdicts_[i & mask_]);
  }
  return snapshot;
}

// The finished ranges, lowest first, as many as fit. Cut from the top: a finished offset that is
// left out comes again and is suppressed by its marker. What was carried stays, because its outcome
// is in the totals already; alone it fitted before. `limit` becomes the first arrival that is not
// in the map.
OffsetMap Frontier::MapWithin(size_t max_bytes, uint32_t& limit) const {
  OffsetMap map;
  int64_t at = offset_;
  size_t bytes = EncodedSize(carried_, offset_) + EncodedSize(carried_not_done_, offset_);
  auto carried = carried_.ranges().begin();
  const auto carried_end = carried_.ranges().end();
  const auto append = [&](int64_t from, int64_t to) {
    if (from = std::max(from, at); from < to) {
      map.Append(from, to);
      at = to;
    }
  };
  for (uint32_t i = base_; i != end_;) {
    if (IsOpen(verdicts_[i & mask_])) {
      i++;
      continue;
    }
    const int64_t from = offsets_[i & mask_];
    // A carried range may be delivered in part so far: what lies before this arrival stays in.
    while (carried != carried_end && carried->from < from) {
      append(carried->from, std::min(carried->to, from));
      if (carried->to > from) {
        break;
      }
      ++carried;
    }
    bytes += VarintSize(std::max<int64_t>(0, from - at));
    const FinishedRun run = RunWithin(i, max_bytes - std::min(bytes, max_bytes));
    bytes += run.bytes;
    if (run.end != i) {
      append(from, offsets_[(run.end - 1) & mask_] + 1);
    }
    i = run.end;
    if (run.cut) {
      limit = i;
      break;
    }
  }
  for (; carried != carried_end; ++carried) {
    append(carried->from, carried->to);
  }
  return map;
}

// The finished arrivals from `first` on, as many as fit into `room` bytes of map and not_done.
Frontier::FinishedRun Frontier::RunWithin(uint32_t first, size_t room) const {
  constexpr size_t kSpare = 2;   // what lies in between may become a range of its own
  constexpr size_t kLength = 3;  // of a range within the largest span
  FinishedRun run{first, 0, false};
  size_t not_done = 0;
  int64_t not_done_end = -1;
  for (; run.end != end_ && !IsOpen(verdicts_[run.end & mask_]); run.end++) {
    const int64_t offset = offsets_[run.end & mask_];
    const bool done = !IsNotDone(verdicts_[run.end & mask_]);
    const bool begins = !done && offset != not_done_end;
    const size_t more = begins ? VarintSize(offset - offset_) + kLength : 0;
    const size_t length = VarintSize(offset + 1 - offsets_[first & mask_]);
    if (length + kSpare + not_done + more > room) {
      run.cut = true;
      return run;
    }
    not_done += more;
    not_done_end = done ? not_done_end : offset + 1;
    run.bytes = length + not_done;
  }
  return run;
}

// Rare, so it is put together by sorting.
OffsetMap Frontier::NotDoneBefore(uint32_t limit) const {
  std::vector<OffsetMap::Range> ranges;
  for (const OffsetMap::Range& range : carried_not_done_.ranges()) {
    if (range.to > offset_) {
      ranges.push_back({std::max(range.from, offset_), range.to});
    }
  }
  for (uint32_t i = base_; i != limit; i++) {
    if (IsNotDone(verdicts_[i & mask_])) {
      ranges.push_back({offsets_[i & mask_], offsets_[i & mask_] + 1});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& one, const auto& other) { return one.from < other.from; });
  OffsetMap not_done;
  for (const OffsetMap::Range& range : ranges) {
    not_done.Append(range.from, range.to);
  }
  return not_done;
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
