// SPDX-License-Identifier: Apache-2.0
#include "answered_counts.h"

#include <algorithm>

namespace oncemq {
namespace {

constexpr uint64_t kMostOpen = 4'096;

}  // namespace

bool AnsweredCounts::Take(uint64_t count, bool change) {
  if (count <= newest_) {
    return !change || open_.erase(count) == 1;
  }
  // A look may come before the answer to the change that it counts.
  const uint64_t end = change ? count : count + 1;
  for (uint64_t open = std::max(newest_ + 1, end - std::min(end, kMostOpen)); open < end; open++) {
    open_.insert(open_.end(), open);
  }
  while (open_.size() > kMostOpen) {
    open_.erase(open_.begin());
  }
  newest_ = count;
  return true;
}

void AnsweredCounts::Restart(uint64_t count) {
  newest_ = count;
  open_.clear();
}

}  // namespace oncemq
