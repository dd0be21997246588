// SPDX-License-Identifier: Apache-2.0
#include "merge_rules.h"

#include <algorithm>
#include <vector>

namespace oncemq {
namespace {

// How often the smallest bucket was multiplied. Rounded: copies are merged away.
size_t TierOf(uint64_t ids, uint64_t smallest, size_t fan_out) {
  size_t tier = 0;
  for (uint64_t bound = smallest * fan_out / 2; ids > bound; tier++) {
    bound = bound > UINT64_MAX / fan_out ? UINT64_MAX : bound * fan_out;
  }
  return tier;
}

class Chooser {
 public:
  Chooser(std::span<const BucketSize> buckets, const MergeRules& rules)
      : buckets_(buckets), rules_(rules) {
    uint64_t smallest = UINT64_MAX;
    for (const BucketSize& bucket : buckets) {
      smallest = std::min(smallest, std::max<uint64_t>(bucket.ids, 1));
    }
    for (const BucketSize& bucket : buckets) {
      tiers_.push_back(TierOf(bucket.ids, smallest, rules.fan_out));
      highest_ = std::max(highest_, tiers_.back());
    }
  }

  std::optional<MergeRun> Choose() const {
    for (size_t tier = 0; tier <= highest_; tier++) {
      for (size_t first = 0; first < buckets_.size(); first++) {
        if (const size_t count = CountFrom(first, tier); count > 1) {
          return MergeRun{first, count};
        }
      }
    }
    return std::nullopt;
  }

 private:
  bool Fits(size_t i, size_t tier) const { return tiers_[i] <= tier && !buckets_[i].taken; }

  // How many from there on become one of the next tier; 0: none yet. The younger ones behind the
  // last of the tier wait for others of their own size.
  size_t CountFrom(size_t first, size_t tier) const {
    size_t end = first;  // behind the last one of the tier
    for (size_t i = first; i < buckets_.size() && Fits(i, tier); i++) {
      if (buckets_[i].newest - buckets_[first].oldest > rules_.span) {
        return end - first;  // it gets no wider
      }
      end = tiers_[i] == tier ? i + 1 : end;
      if (end - first == rules_.fan_out) {
        return end - first;
      }
      if (i + 1 - first == rules_.fan_out) {
        return 0;
      }
    }
    return 0;
  }

  const std::span<const BucketSize> buckets_;
  const MergeRules& rules_;
  std::vector<size_t> tiers_;
  size_t highest_ = 0;
};

}  // namespace

std::optional<MergeRun> ChooseMerge(std::span<const BucketSize> buckets, const MergeRules& rules) {
  return buckets.size() > rules.few ? Chooser(buckets, rules).Choose() : std::nullopt;
}

}  // namespace oncemq
