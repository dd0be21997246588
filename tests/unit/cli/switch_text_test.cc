// SPDX-License-Identifier: Apache-2.0
// The lines of `oncemq lock switch`: of one look, and of a watch that counts down.
#include "switch_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

LockSwitch UnderWay(milliseconds left) {
  LockSwitch state;
  state.in_force = "a";
  state.target = "b";
  state.phase = SwitchMode::kBoth;
  state.epoch = 5;
  state.left = left;
  state.why = "an \"upgrade\"\n";
  return state;
}

LockSwitch Over() {
  LockSwitch state;
  state.in_force = "b";
  state.epoch = 6;
  return state;
}

TEST(SwitchText, OneLookSaysThatItDoesNotKnowWhenTheSwitchBegan) {
  EXPECT_EQ(SwitchText(UnderWay(milliseconds(39'986)), /*watched=*/false),
            "a is in force, epoch 5; switching to b (planned: both grant), 39986 ms left at most "
            "(one look does not know when the switch began: --watch counts down); why: an "
            "\"upgrade\"\\n\n");
  EXPECT_EQ(SwitchText(Over(), /*watched=*/false), "b is in force, epoch 6\n");
}

TEST(SwitchText, JsonTellsTheSame) {
  const auto json = nlohmann::json::parse(SwitchJson(UnderWay(milliseconds(39'986))));
  EXPECT_EQ(json["left_ms"], 39'986);
  EXPECT_EQ(json["phase"], "both");
  EXPECT_EQ(json["why"], "an \"upgrade\"\n");
  EXPECT_TRUE(nlohmann::json::parse(SwitchJson(Over()))["left_ms"].is_null());
}

TEST(SwitchText, AWatchTellsEachLookUntilTheSwitchIsOver) {
  int64_t now = 0;
  std::vector<std::string> lines;
  WatchSwitch([&] { return now < 3'000 ? UnderWay(milliseconds(3'000 - now)) : Over(); },
              [&] { now += 1'000; },
              [&](const LockSwitch& state) {
                lines.push_back(SwitchText(state, /*watched=*/true));
                return true;
              });
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr(", 3000 ms left at most; why"), HasSubstr(", 2000 ms left"),
                          HasSubstr(", 1000 ms left"), EndsWith("b is in force, epoch 6\n")));
}

TEST(SwitchText, AWatchThatNobodyReadsEnds) {
  int reads = 0;
  const auto read = [&] {
    reads++;
    return UnderWay(milliseconds(3'000));
  };
  WatchSwitch(
      read, [] {}, [](const LockSwitch&) { return false; });
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace oncemq
