// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "oncemq/framework/replay.h"

namespace oncemq::testing {
namespace {

ReplaySet SomeSet() {
  return {.id = "r-20261128-170000-a1b2c3",
          .cluster = "c",
          .owner = "payments",
          .frozen_ms = 17,
          .ranges = {{.topic = "payments", .partition = 1, .from = 2, .to = 3, .frontier = 4},
                     {.topic = "refunds", .partition = 1, .from = 2, .to = 3, .frontier = 4}}};
}

TEST(ReplaySet, EverythingButTheNoticesIsInTheDigest) {
  const std::vector<std::function<void(ReplaySet&)>> changes = {
      [](ReplaySet&) {},
      [](ReplaySet& set) { set.id.pop_back(); },
      [](ReplaySet& set) { set.cluster = "d"; },
      [](ReplaySet& set) { set.owner = ""; },
      [](ReplaySet& set) { set.frozen_ms++; },
      [](ReplaySet& set) { set.ranges.pop_back(); },
      [](ReplaySet& set) { set.ranges[0].topic = "payment"; },
      [](ReplaySet& set) { set.ranges[1].partition = -1; },
      [](ReplaySet& set) { set.ranges[1].from--; },
      [](ReplaySet& set) { set.ranges[1].to++; },
      [](ReplaySet& set) { set.ranges[1].frontier++; },
      [](ReplaySet& set) { set.ranges[1].since++; },
      [](ReplaySet& set) { std::swap(set.ranges[0], set.ranges[1]); },
      // The same bytes, in other fields.
      [](ReplaySet& set) { set.cluster = "cp", set.owner = "ayments"; },
  };
  std::set<uint64_t> digests;
  for (const auto& change : changes) {
    ReplaySet set = SomeSet();
    change(set);
    digests.insert(set.Digest());
  }
  EXPECT_EQ(digests.size(), changes.size());
  ReplaySet noticed = SomeSet();
  noticed.notices.push_back("41 messages above the frontier are left to the live group");
  EXPECT_EQ(noticed.Digest(), SomeSet().Digest());
}

TEST(ReplaySet, TheDigestIsTheSameInEveryVersion) {
  EXPECT_EQ(SomeSet().Digest(), 0x6b0d557fcf7d36afu) << "a set on disk is known again";
}

TEST(ReplayCounts, CountsAddUp) {
  ReplayCounts some;
  some.words[static_cast<size_t>(ReplayWord::kApplies)] = 2;
  some.words[static_cast<size_t>(ReplayWord::kRefused)] = 3;
  some.before_history = 1;
  ReplayCounts all = some;
  all += some;
  EXPECT_EQ(all[ReplayWord::kApplies], 4);
  EXPECT_EQ(all[ReplayWord::kRefused], 6);
  EXPECT_EQ(all.before_history, 2);
  EXPECT_EQ(all.messages(), 10);
}

TEST(ReplayWord, EachHasAName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kReplayWords; i++) {
    names.insert(ToString(static_cast<ReplayWord>(i)));
  }
  EXPECT_EQ(names.size(), kReplayWords);
  EXPECT_EQ(names.count("?"), 0u);
}

}  // namespace
}  // namespace oncemq::testing
