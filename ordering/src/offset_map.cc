// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/offset_map.h"

#include <algorithm>
#include <limits>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {

void OffsetMap::Append(int64_t from, int64_t to) {
  ONCEMQ_CHECK(from < to, "a range holds at least one offset");
  if (!ranges_.empty() && ranges_.back().to == from) {
    ranges_.back().to = to;
    return;
  }
  ONCEMQ_CHECK(ranges_.empty() || ranges_.back().to < from, "ranges are appended in order");
  ranges_.push_back({from, to});
}

bool OffsetMap::Contains(int64_t offset) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                       [](int64_t wanted, const Range& range) { return wanted < range.from; });
  return after != ranges_.begin() && offset < std::prev(after)->to;
}

bool OffsetMap::Contains(const Range& range) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& mine) {
    return mine.from <= range.from && range.to <= mine.to;
  });
}

int64_t OffsetMap::count() const {
  int64_t total = 0;
  for (const Range& range : ranges_) {
    total += range.to - range.from;
  }
  return total;
}

std::string OffsetMap::Encode(int64_t frontier) const {
  std::string bytes;
  int64_t at = frontier;
  for (const Range& range : ranges_) {
    ONCEMQ_CHECK(range.from >= at, "the map lies above its frontier");
    AppendVarint(bytes, static_cast<uint64_t>(range.from - at));
    AppendVarint(bytes, static_cast<uint64_t>(range.to - range.from));
    at = range.to;
  }
  return bytes;
}

std::optional<OffsetMap> OffsetMap::Decode(std::string_view bytes, int64_t frontier,
                                           size_t max_ranges) {
  OffsetMap map;
  ByteReader reader(bytes);
  int64_t at = frontier;
  while (!reader.empty()) {
    const auto open = reader.Varint();
    const auto finished = reader.Varint();
    if (!open || !finished || *finished == 0 || map.ranges_.size() == max_ranges) {
      return std::nullopt;
    }
    const auto left = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - at);
    if (frontier < 0 || *open > left || *finished > left - *open) {
      return std::nullopt;
    }
    const int64_t from = at + static_cast<int64_t>(*open);
    at = from + static_cast<int64_t>(*finished);
    map.Append(from, at);
  }
  return map;
}

}  // namespace oncemq
