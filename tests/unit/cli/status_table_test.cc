// SPDX-License-Identifier: Apache-2.0
// The picture of a watch: a table on a terminal, elsewhere lines.
#include "status_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "status_command.h"
#include "status_watch.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

StatusTable Three() {
  return {.head = {"group shop"},
          .columns = {"partition", "lag", "held up"},
          .rows = {{{"payments [0]", "7", ""}, 7, Mood::kGood},
                   {{"payments [1]", "100", "at offset 3"}, 100, Mood::kHeld},
                   {{"payments [10]", "?", "no room"}, std::nullopt, Mood::kBad}},
          .alarms = {"does not move: payments [10] is stopped"}};
}

TEST(StatusTable, HasColumnsOfOneWidthAndABarForEachLag) {
  EXPECT_EQ(TableText(Three(), {}),
            "group shop\n"
            "PARTITION      LAG              HELD UP\n"
            "payments [0]     7  #.........\n"
            "payments [1]   100  ##########  at offset 3\n"
            "payments [10]    ?              no room\n"
            "does not move: payments [10] is stopped\n");
}

TEST(StatusTable, ABarIsAShareOfTheLargestLag) {
  EXPECT_EQ(LagBar(0, 0), "..........");
  EXPECT_EQ(LagBar(0, 9), "..........");
  EXPECT_EQ(LagBar(1, 1'000'000), "#.........") << "a small lag is not none";
  EXPECT_EQ(LagBar(50, 100), "#####.....");
  EXPECT_EQ(LagBar(INT64_MAX, INT64_MAX), "##########");
  EXPECT_EQ(LagBar(-3, 9), "..........") << "a commit above the end of its log";
}

TEST(StatusTable, ColorsShowTrouble) {
  const std::string text = TableText(Three(), {.color = true});
  EXPECT_THAT(text, HasSubstr("\n\x1b[32mpayments [0] "));
  EXPECT_THAT(text, HasSubstr("\n\x1b[33mpayments [1] "));
  EXPECT_THAT(text, HasSubstr("\n\x1b[31mpayments [10] "));
  EXPECT_THAT(text, HasSubstr("no room\x1b[0m\n"));
  EXPECT_THAT(text, HasSubstr("\n\x1b[31mdoes not move: "));
  EXPECT_THAT(TableText(Three(), {}), Not(HasSubstr("\x1b")));
}

TEST(StatusTable, ASmallTerminalShowsTheRowsInTroubleAndTheMostLag) {
  StatusTable table = Three();
  for (int i = 11; i < 30; i++) {
    table.rows.push_back({{"payments [" + std::to_string(i) + "]", "9"}, 9, Mood::kGood});
  }
  table.rows[5].lag = 50;
  const std::string text = TableText(table, {.width = 32, .height = 8});
  EXPECT_THAT(text, HasSubstr("\npayments [1] "));
  EXPECT_THAT(text, HasSubstr("\npayments [10] "));
  EXPECT_THAT(text, HasSubstr("\npayments [13] "));
  EXPECT_THAT(text, Not(HasSubstr("payments [0] ")));
  EXPECT_THAT(text, HasSubstr("and 19 partitions with less lag\n"));
  EXPECT_LT(text.find("payments [1] "), text.find("payments [10] ")) << "in their order";
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); count++) {
    EXPECT_LE(line.size(), 32u) << line;
  }
  EXPECT_LT(count, 8) << "the cursor has a line";
}

TEST(StatusTable, ALineCanBeReadWithoutTheOthers) {
  const std::vector<std::string> lines = TableLines(Three());
  EXPECT_THAT(lines, ElementsAre("group shop", "payments [0]: lag 7",
                                 "payments [1]: lag 100, held up at offset 3",
                                 "payments [10]: lag ?, held up no room",
                                 "does not move: payments [10] is stopped"));
}

TEST(StatusTable, AWatchWritesTheLinesThatHaveChanged) {
  const std::vector<std::string> last{"a: lag 1", "b: lag 1"};
  EXPECT_EQ(NewLines(last, {"a: lag 1", "b: lag 2"}, "now"), "now b: lag 2\n");
  EXPECT_EQ(NewLines(last, last, "now"), "");
  EXPECT_EQ(NewLines({}, last, "now"), "now a: lag 1\nnow b: lag 1\n");
}

TEST(StatusTable, AServiceHasARowForEachPartition) {
  const auto status = ordered_json::parse(R"({
    "group": "shop", "pid": 7, "counts": {"deliveries": 5, "applied": 3, "handed_back": 2},
    "partitions": [
      {"topic": "payments", "partition": 0, "begun": true, "waiting": "", "stopped": "",
       "phase": "active", "frontier": 40, "committed": 39, "lag": 12, "uncertain": 2,
       "totals": {"applied": 30, "parked": 4, "rejected": 1}, "oldest": null},
      {"topic": "payments", "partition": 1, "waiting": "", "stopped": "", "phase": "active",
       "frontier": 3, "committed": -1, "lag": null, "totals": {},
       "oldest": {"offset": 3, "id": "p\u001b", "state": "running", "attempt": 1, "held_ms": 2000}},
      {"topic": "payments", "partition": 2, "waiting": "no \u001b room", "stopped": "",
       "phase": "none"},
      {"topic": "payments", "partition": 3, "waiting": "", "stopped": "refused", "phase": "none"}],
    "standstills": ["payments [3] is stopped"]})");
  const StatusTable table = StatusTableOf(status);
  EXPECT_THAT(table.head,
              ElementsAre("group shop, process 7", "deliveries 5 = applied 3 + handed back 2"));
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_THAT(table.rows[0].cells,
              ElementsAre("payments [0]", "active", "39", "40", "12", "5", "2", ""));
  EXPECT_EQ(table.rows[0].mood, Mood::kGood);
  EXPECT_THAT(table.rows[1].cells,
              ElementsAre("payments [1]", "active", "-", "3", "?", "0", "0",
                          "at offset 3 for 2 s: its handler runs, attempt 1, id p\\u001b"));
  EXPECT_EQ(table.rows[1].mood, Mood::kHeld);
  EXPECT_EQ(table.rows[1].lag, std::nullopt);
  EXPECT_EQ(table.rows[2].cells[1], "waiting");
  EXPECT_EQ(table.rows[2].cells[7], "no \\u001b room");
  EXPECT_EQ(table.rows[3].cells[1], "stopped");
  EXPECT_EQ(table.rows[3].mood, Mood::kBad);
  EXPECT_THAT(table.alarms, ElementsAre("does not move: payments [3] is stopped"));
}

TEST(StatusTable, AnyJsonGivesATable) {
  EXPECT_THAT(StatusTableOf({}).rows, IsEmpty());
  const auto status = ordered_json::parse(
      R"({"group": [], "counts": 5, "partitions": [null, 5, {}, {"totals": [], "oldest": 3}],
          "standstills": [7]})");
  EXPECT_EQ(StatusTableOf(status).rows.size(), 4u);
  EXPECT_THAT(TableText(StatusTableOf(status), {}), HasSubstr("does not move: ?\n"));
}

}  // namespace
}  // namespace oncemq
