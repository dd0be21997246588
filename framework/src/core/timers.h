// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "oncemq/base/clock.h"

namespace oncemq {

// Lanes that wait for a moment. Every lane aside on a timer has exactly one entry, so the heap is
// bounded by the lanes.
class LaneTimers {
 public:
  void Add(BootTime due, uint32_t lane) {
    heap_.push_back({due, lane});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }

  std::optional<uint32_t> PopDue(BootTime now) {
    if (heap_.empty() || heap_.front().due > now) {
      return std::nullopt;
    }
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const uint32_t lane = heap_.back().lane;
    heap_.pop_back();
    return lane;
  }

  // Forgets the lanes for which gone(lane) holds.
  template <class Gone>
  void RemoveIf(Gone gone) {
    std::erase_if(heap_, [&](const Entry& entry) { return gone(entry.lane); });
    std::make_heap(heap_.begin(), heap_.end(), Later);
  }

  std::optional<BootTime> Next() const {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().due);
  }

 private:
  struct Entry {
    BootTime due;
    uint32_t lane;
  };
  // Ties by lane number: the order of a trace must not depend on the heap's history.
  static bool Later(const Entry& a, const Entry& b) {
    return a.due != b.due ? a.due > b.due : a.lane > b.lane;
  }
  std::vector<Entry> heap_;
};

}  // namespace oncemq
