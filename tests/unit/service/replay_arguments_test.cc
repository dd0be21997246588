// SPDX-License-Identifier: Apache-2.0
// The arguments of `replay`, and its words.
#include "replay_arguments.h"

#include <gmock/gmock.h>

#include "replay_text.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'796'688'000'000;  // 2026-12-08T00:00:00Z

Result<ReplayArguments> Read(std::vector<std::string> words) {
  words.insert(words.begin(), {"-c", "service.yaml"});
  return ReadReplayArguments(words, kNow);
}

std::string WhyNot(const std::vector<std::string>& words) {
  const auto arguments = Read(words);
  return arguments ? "" : arguments.error().message;
}

TEST(ReplayArguments, TimesAreDaysTimesAndDurations) {
  const auto arguments = Read({"--since", "2026-12-07", "--until=2026-12-07T08:00:00Z"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(arguments->config, "service.yaml");
  EXPECT_EQ(arguments->request.since_ms, kNow - 24 * 3'600'000);
  EXPECT_EQ(arguments->request.until_ms, kNow - 16 * 3'600'000);
  EXPECT_EQ(Read({"--since", "26h"})->request.since_ms, kNow - 26 * 3'600'000);
}

TEST(ReplayArguments, SetsAreNarrowedByTopicPartitionAndOffset) {
  const auto arguments =
      Read({"--topic", "payments", "--partition", "3", "--from", "7", "--to", "9"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_THAT(arguments->request.topics, ElementsAre("payments"));
  EXPECT_THAT(arguments->request.partitions, ElementsAre(3));
  EXPECT_EQ(arguments->request.from, 7);
  EXPECT_EQ(arguments->request.to, 9);
}

TEST(ReplayArguments, WrongOnesAreRefusedWithTheirWord) {
  EXPECT_THAT(WhyNot({}), HasSubstr("Say --since"));
  EXPECT_THAT(WhyNot({"--since", "yesterday"}), HasSubstr("`yesterday` is no TIME"));
  EXPECT_THAT(WhyNot({"--since"}), HasSubstr("--since wants its TIME"));
  EXPECT_THAT(WhyNot({"--since", "1h", "--everything"}), HasSubstr("`--everything`"));
  EXPECT_THAT(WhyNot({"--since", "1h", "--json=yes"}), HasSubstr("`--json=yes`"));
  EXPECT_THAT(WhyNot({"--from", "7"}), HasSubstr("say --topic and --partition"));
  EXPECT_THAT(WhyNot({"--since", "1h", "--partition", "9999999999"}), HasSubstr("is no P"));
  EXPECT_THAT(ReadReplayArguments(std::vector<std::string>{"--since", "1h"}, kNow).error().message,
              HasSubstr("-c FILE"));
}

TEST(ReplayArguments, AStateNeedsNoTimeAndHelpNeedsNothing) {
  EXPECT_EQ(WhyNot({"--state", "replay-1"}), "");
  EXPECT_TRUE(ReadReplayArguments(std::vector<std::string>{"-h"}, kNow)->help);
  for (const ReplayFlag& flag : ReplayFlags()) {
    EXPECT_THAT(ReplayUsage("payments"), HasSubstr(std::string(flag.name)));
  }
}

TEST(ReplayText, DaysHaveTheColumnsThatCountAnything) {
  ReplaySet set{.id = "r-1", .frozen_ms = kNow};
  set.ranges = {{.topic = "payments", .partition = 0, .from = 0, .to = 10},
                {.topic = "payments", .partition = 1, .from = 0, .to = 10}};
  set.notices = {"7 offsets are gone"};
  ReplayTable table;
  ReplayCounts& counts = table[{"payments", kNow / 86'400'000}];
  counts.words[static_cast<size_t>(ReplayWord::kApplies)] = 1'234;
  counts.words[static_cast<size_t>(ReplayWord::kOutside)] = 2;
  counts.before_history = 4;
  const std::string text = ReplayText(set, table);
  EXPECT_THAT(text, HasSubstr("payments: 2 partitions\n7 offsets are gone\n"));
  EXPECT_THAT(text, HasSubstr("2026-12-08  "));
  EXPECT_THAT(text, HasSubstr("1,234"));
  EXPECT_THAT(text, HasSubstr(std::string(ToString(ReplayWord::kOutside))));
  EXPECT_THAT(text, Not(HasSubstr(std::string(ToString(ReplayWord::kParked)))));
  EXPECT_THAT(text, HasSubstr("4 of the first column lie before the history of the group"));
  EXPECT_THAT(ReplayJson(set, table), HasSubstr("\"before_history\":4,\"messages\":1236}"));
}

}  // namespace
}  // namespace oncemq::testing
