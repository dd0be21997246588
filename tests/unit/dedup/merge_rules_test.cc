// SPDX-License-Identifier: Apache-2.0
// Which buckets become one: few are left, none is too wide, and each id is written seldom.
#include "local/merge_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace oncemq {
namespace {

constexpr milliseconds kStep{1'000};  // of log time, from one generation to the next

// Adds generations, and merges whatever there is to merge.
class Window {
 public:
  explicit Window(const MergeRules& rules) : rules_(rules) {}

  void Add(uint64_t ids) {
    const LogTime now{kStep * ++generations_};
    buckets_.push_back({.ids = ids, .oldest = now, .newest = now});
    while (const auto run = ChooseMerge(buckets_, rules_)) {
      ASSERT_GE(run->count, 2u);
      const auto first = buckets_.begin() + static_cast<std::ptrdiff_t>(run->first);
      const auto end = first + static_cast<std::ptrdiff_t>(run->count);
      BucketSize merged = *first;
      for (auto one = first + 1; one != end; ++one) {
        merged.ids += one->ids;
        merged.newest = one->newest;
      }
      EXPECT_LE(merged.newest - merged.oldest, rules_.span);
      written_ += merged.ids;
      buckets_.insert(buckets_.erase(first, end), merged);
    }
    most_ = std::max(most_, buckets_.size());
  }
  void Forget(LogTime before) {
    std::erase_if(buckets_, [&](const BucketSize& bucket) { return bucket.newest < before; });
  }

  const std::vector<BucketSize>& buckets() const { return buckets_; }
  size_t most() const { return most_; }
  uint64_t written() const { return written_; }
  int generations() const { return generations_; }

 private:
  const MergeRules rules_;
  std::vector<BucketSize> buckets_;
  int generations_ = 0;
  size_t most_ = 0;
  uint64_t written_ = 0;
};

TEST(MergeRules, FewBucketsAreLeftAlone) {
  Window window({});
  for (int i = 0; i < 12; i++) {
    window.Add(1'000);
  }
  EXPECT_EQ(window.buckets().size(), 12u);
  EXPECT_EQ(window.written(), 0u);
  window.Add(1'000);
  EXPECT_EQ(window.buckets().size(), 10u) << "the oldest four are one";
  EXPECT_EQ(window.buckets().front().ids, 4'000u);
}

TEST(MergeRules, AThousandGenerationsLeaveAFewBucketsAndAreWrittenAFewTimes) {
  Window window({});
  for (int i = 0; i < 1'000; i++) {
    window.Add(990 + i % 20);
  }
  EXPECT_LE(window.most(), 16u);
  EXPECT_LE(window.written(), 5u * 1'000 * 1'000) << "each id so many times";
}

// A window that forgets, of any length: it holds `remember` and the widest bucket.
TEST(MergeRules, AWindowOfAnyLengthHasAboutTwentyBucketsAndNoneIsWide) {
  for (const int remember : {40, 100, 605, 1'500, 6'000}) {
    MergeRules rules;
    rules.span = kStep * remember / 8;
    Window window(rules);
    size_t most = 0;
    for (int i = 0; i < 4 * remember; i++) {
      window.Add(1'000);
      window.Forget(LogTime(kStep * (window.generations() - remember)));
      most = std::max(most, window.buckets().size());
    }
    EXPECT_LE(most, remember > 1'000 ? 26u : 18u) << remember;
    EXPECT_LE(window.written(), 6u * 1'000 * 4 * static_cast<uint64_t>(remember)) << remember;
  }
}

TEST(MergeRules, SizesOfAnyKindDoNotKeepNeighboursApart) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; round++) {
    Window window({});
    for (int i = 0; i < 400; i++) {
      window.Add(1 + random() % (uint64_t{1} << random() % 16));
    }
    // 3 of each tier, and sizes go from 1 to 2^15 * 400: 12 tiers of 4.
    EXPECT_LE(window.most(), 3 * 12 + 1u);
  }
}

TEST(MergeRules, ABucketThatIsAboutToGoIsNobodysNeighbour) {
  std::vector<BucketSize> buckets(13, {.ids = 10, .oldest = LogTime{}, .newest = LogTime{}});
  for (size_t i = 2; i < buckets.size(); i += 3) {
    buckets[i].taken = true;
  }
  EXPECT_FALSE(ChooseMerge(buckets, {})) << "never four that lie side by side";
  buckets[5].taken = false;
  const auto run = ChooseMerge(buckets, {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->first, 3u);
  EXPECT_EQ(run->count, 4u);
}

TEST(MergeRules, EmptyBucketsAndNoBucketsAreNoTrouble) {
  EXPECT_FALSE(ChooseMerge({}, {.few = 0}));
  const std::vector<BucketSize> buckets(13);
  EXPECT_TRUE(ChooseMerge(buckets, {}));
}

}  // namespace
}  // namespace oncemq
