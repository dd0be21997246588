// SPDX-License-Identifier: Apache-2.0
// The map: offsets above a frontier that are finished already, as ranges, and its byte form
// (docs/formats.md).
//
//   bytes = pairs of varints (open, finished), counted from the frontier: "skip `open` offsets,
//   then `finished` are done"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oncemq {

// Sorted, disjoint, non-adjacent ranges [from, to).
//
// Thread safety: none, a value type.
class OffsetMap {
 public:
  struct Range {
    int64_t from = 0;
    int64_t to = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  // Appends [from, to). Must start at or above the end of the last range; an adjacent one is
  // merged.
  void Append(int64_t from, int64_t to);
  bool Contains(int64_t offset) const;
  bool Contains(const Range& range) const;  // all of it
  bool empty() const { return ranges_.empty(); }
  int64_t count() const;
  const std::vector<Range>& ranges() const { return ranges_; }

  std::string Encode(int64_t frontier) const;
  // Total: foreign or damaged bytes give nullopt. Refuses more than `max_ranges` ranges and offsets
  // that overflow.
  static std::optional<OffsetMap> Decode(std::string_view bytes, int64_t frontier,
                                         size_t max_ranges = 4096);

  friend bool operator==(const OffsetMap&, const OffsetMap&) = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace oncemq
