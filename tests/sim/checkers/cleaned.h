// SPDX-License-Identifier: Apache-2.0
// Cleaned: which records have gone from the log, kept from the history alone. What went before an
// operator's reset is no part of the history that begins there.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "../history.h"

namespace oncemq::sim {

class Cleaned {
 public:
  void See(const Record& record) {
    if (record.op == Op::kCleaned) {
      gone_.insert({record.partition, record.offset});
    } else if (record.op == Op::kReset) {
      for (auto at = gone_.lower_bound({record.partition, 0});
           at != gone_.end() && at->first == record.partition; ++at) {
        before_.insert(*at);
      }
    }
  }
  bool Gone(int32_t partition, int64_t offset) const { return gone_.contains({partition, offset}); }
  bool GoneBeforeReset(int32_t partition, int64_t offset) const {
    return before_.contains({partition, offset});
  }
  // How many of [from, to).
  int64_t CountBeforeReset(int32_t partition, int64_t from, int64_t to) const {
    return std::distance(before_.lower_bound({partition, from}),
                         before_.lower_bound({partition, std::max(from, to)}));
  }

 private:
  std::set<std::pair<int32_t, int64_t>> gone_;
  std::set<std::pair<int32_t, int64_t>> before_;
};

}  // namespace oncemq::sim
