// SPDX-License-Identifier: Apache-2.0
// Records of uncertain calls (Window::RecordUncertain), and the last ones of a window without a
// store.
//
// Thread safety: none; the window that owns them locks.
#pragma once

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "oncemq/dedup/window.h"

namespace oncemq {

inline void SortByLastCall(std::vector<UncertainRecord>& records) {
  std::stable_sort(
      records.begin(), records.end(),
      [](const UncertainRecord& a, const UncertainRecord& b) { return a.last < b.last; });
}

class UncertainCalls {
 public:
  void Record(std::span<const UncertainCall> calls, WallTime now) {
    for (const UncertainCall& call : calls) {
      Messages& messages = ids_[std::string(call.id)];
      auto found = std::find_if(messages.begin(), messages.end(),
                                [&](Order::iterator record) { return record->at == call.at; });
      if (found == messages.end()) {
        order_.push_back({std::string(call.id), "", call.at, 0, now, now});
        found = messages.insert(found, std::prev(order_.end()));
      }
      UncertainRecord& record = **found;
      record.attempt = std::max(record.attempt, call.attempt);
      record.last = now;
      order_.splice(order_.end(), order_, *found);
    }
    while (order_.size() > kMost) {
      DropOldest();
    }
  }

  bool Has(std::string_view id) const { return ids_.find(id) != ids_.end(); }

  std::vector<UncertainRecord> Since(WallTime since) const {
    std::vector<UncertainRecord> records;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(records),
                 [&](const UncertainRecord& one) { return one.last.micros >= since.micros; });
    return records;
  }

 private:
  static constexpr size_t kMost = 65'536;
  using Order = std::list<UncertainRecord>;  // by the last call
  using Messages = std::vector<Order::iterator>;

  void DropOldest() {
    const auto found = ids_.find(order_.front().id);
    std::erase(found->second, order_.begin());
    if (found->second.empty()) {
      ids_.erase(found);
    }
    order_.pop_front();
  }

  Order order_;
  std::map<std::string, Messages, std::less<>> ids_;
};

}  // namespace oncemq
