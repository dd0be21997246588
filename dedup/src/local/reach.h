// SPDX-License-Identifier: Apache-2.0
// Reach: the highest offset of each partition among some finished ids. They may be forgotten only
// once each lies below the frontier of its partition (rule 22).
//
// Thread safety: none needed, a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

class Reach {
 public:
  void Note(const Coordinates& at) {
    if (at.partition < 0 || at.offset < 0) {
      return;  // of a caller without a log
    }
    if (last_ < tops_.size() && SamePartition(tops_[last_], at)) [[likely]] {
      tops_[last_].offset = std::max(tops_[last_].offset, at.offset);
      return;
    }
    for (last_ = 0; last_ < tops_.size() && !SamePartition(tops_[last_], at); last_++) {
    }
    if (last_ == tops_.size()) {
      tops_.push_back(at);
    }
    tops_[last_].offset = std::max(tops_[last_].offset, at.offset);
  }

  const std::vector<Coordinates>& tops() const { return tops_; }

  void Encode(std::string& bytes) const {
    AppendVarint(bytes, tops_.size());
    for (const Coordinates& top : tops_) {
      AppendVarint(bytes, top.source);
      AppendVarint(bytes, static_cast<uint32_t>(top.partition));
      AppendVarint(bytes, static_cast<uint64_t>(top.offset));
    }
  }
  static std::optional<Reach> Decode(ByteReader& reader) {
    Reach reach;
    const auto count = reader.Varint();
    if (!count || *count > reader.rest().size()) {
      return std::nullopt;
    }
    for (uint64_t i = 0; i < *count; i++) {
      const auto source = reader.Varint();
      const auto partition = reader.Varint();
      const auto offset = reader.Varint();
      if (!offset || *source > UINT32_MAX || *partition > INT32_MAX || *offset > INT64_MAX) {
        return std::nullopt;
      }
      reach.tops_.push_back({static_cast<uint32_t>(*source), static_cast<int32_t>(*partition),
                             static_cast<int64_t>(*offset)});
    }
    return reach;
  }

 private:
  static bool SamePartition(const Coordinates& one, const Coordinates& other) {
    return one.partition == other.partition && one.source == other.source;
  }

  std::vector<Coordinates> tops_;
  size_t last_ = 0;  // ids of one partition come together
};

}  // namespace oncemq
