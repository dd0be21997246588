// SPDX-License-Identifier: Apache-2.0
// The lines of `oncemq status` for things that do not move, and the reasons for a probe to fail.
#include "status_holdups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "status_command.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One partition, at work.
ordered_json Working() {
  return ordered_json::parse(R"({
    "partitions": [{"topic": "payments", "partition": 3, "begun": true, "waiting": "",
                    "stopped": "", "phase": "active", "frontier": 40, "committed": 40,
                    "next_offset": 44, "lag": 12, "retrying": 0, "unmoved_ms": 0,
                    "oldest": null}],
    "stops": [], "unreached": "", "error": "", "retrying": 0, "lag": 12, "missing_topics": [],
    "unreached_ms": 0, "age_ms": 20})");
}

TEST(StatusHoldups, TheMessageThatHoldsUpAPartitionHasALine) {
  ordered_json status = Working();
  EXPECT_THAT(StatusText(status), Not(HasSubstr("held up")));
  status["retrying"] = 4;
  ordered_json& partition = status["partitions"][0];
  partition["oldest"] = ordered_json::parse(
      R"({"offset": 40, "id": "p-17", "state": "retrying", "attempt": 7,
          "why": "the database is down\u001b", "next_try_ms": 12500, "held_ms": 75000})");
  std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("next offset 44, lag 12, in total "));
  EXPECT_THAT(text, HasSubstr("\n  held up at offset 40 for 75 s: retrying, attempt 7, next try in "
                              "12 s, id p-17: the database is down\\u001b\n"));
  EXPECT_THAT(text, HasSubstr("\nlag 12 to the ends of the logs\n"));
  EXPECT_THAT(text, HasSubstr("\nretrying 4: messages whose handler asked for another attempt\n"));
  partition["oldest"] = ordered_json::parse(
      R"({"offset": 40, "id_hex": "ff", "state": "running", "attempt": 1, "why": "",
          "next_try_ms": null, "held_ms": 2000})");
  text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("\n  held up at offset 40 for 2 s: its handler runs, attempt 1, "
                              "id_hex ff\n"));
}

TEST(StatusHoldups, AStoreThatIsHeldAndAFullDiskAreNamed) {
  ordered_json status = Working();
  status["partitions"][0]["waiting"] = "another process, or another window of this one, holds it";
  EXPECT_THAT(StatusText(status), HasSubstr("waiting: another process, or another window of this "
                                            "one, holds it; frontier"));
  status["partitions"][0]["waiting"] = "IO error: No space left on device";
  EXPECT_THAT(StatusText(status), HasSubstr("waiting: IO error: No space left on device"));
}

TEST(StatusHoldups, AMissingTopicIsNamedInPlaceOfTheWaitForTheGroup) {
  ordered_json status = Working();
  status["partitions"] = ordered_json::array();
  EXPECT_THAT(StatusText(status), HasSubstr("no partition was ever assigned"));
  status["missing_topics"] = ordered_json::parse(R"([{"topic": "order", "missing_ms": 35000}])");
  const std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("\ntopic order does not exist (for 35 s): it is picked up once it is "
                              "created\n"));
  EXPECT_THAT(text, Not(HasSubstr("ever assigned")));
}

TEST(StatusHoldups, AProbePassesWhileAllMoves) {
  EXPECT_THAT(Standstills(Working(), kStalledAfter), IsEmpty());
  EXPECT_THAT(Standstills(ordered_json::object(), kStalledAfter), IsEmpty()) << "an older service";
}

TEST(StatusHoldups, AProbeFailsAtOnceWhileAServerRefusesTheLogin) {
  ordered_json status = Working();
  status["refused_logins"] = {"redis://h:6379/0 refuses the login: Redis: WRONGPASS\x1b"};
  EXPECT_THAT(Standstills(status, kStalledAfter),
              ElementsAre("redis://h:6379/0 refuses the login: Redis: WRONGPASS\\u001b"));
  status["refused_logins"] = ordered_json::array();
  EXPECT_THAT(Standstills(status, kStalledAfter), IsEmpty());
}

TEST(StatusHoldups, AProbeFailsWhileAPartitionIsStopped) {
  ordered_json status = Working();
  status["stops"] = {"payments/3 at offset 41: refused: no"};
  EXPECT_THAT(Standstills(status, kStalledAfter), IsEmpty()) << "it was assigned anew since";
  status["partitions"][0]["stopped"] = "refused: no";
  EXPECT_THAT(Standstills(status, kStalledAfter), ElementsAre("payments [3] is stopped"));
  status = Working();
  status["stops"] = {"shop: Group authorization failed"};
  EXPECT_THAT(Standstills(status, kStalledAfter),
              ElementsAre("stopped: shop: Group authorization failed"));
}

TEST(StatusHoldups, AProbeFailsOnceAPartitionHasNotMovedForTheTime) {
  ordered_json status = Working();
  status["age_ms"] = 20;
  status["partitions"][0]["unmoved_ms"] = 59'979;
  EXPECT_THAT(Standstills(status, kStalledAfter), IsEmpty());
  status["partitions"][0]["unmoved_ms"] = 59'980;
  EXPECT_THAT(Standstills(status, kStalledAfter),
              ElementsAre("nothing of payments [3] was finished for 60 s"));
  EXPECT_THAT(Standstills(status, seconds(61)), IsEmpty());
}

TEST(StatusHoldups, AProbeFailsWithoutTheTopicABrokerOrThePollThreadForTheTime) {
  ordered_json status = Working();
  status["missing_topics"] = ordered_json::parse(R"([{"topic": "order", "missing_ms": 59999}])");
  status["unreached_ms"] = 59'999;
  status["age_ms"] = 59'999;
  EXPECT_THAT(Standstills(status, kStalledAfter), IsEmpty());
  status["missing_topics"][0]["missing_ms"] = 60'000;
  status["unreached_ms"] = 60'000;
  status["age_ms"] = 60'000;
  EXPECT_THAT(
      Standstills(status, kStalledAfter),
      ElementsAre("topic order has been missing for 60 s", "no broker has answered for 60 s",
                  "the poll thread has told nothing for 60 s"));
  status = Working();
  status["error"] = "the client is broken";
  EXPECT_THAT(Standstills(status, kStalledAfter), ElementsAre("it has ended by itself"));
}

TEST(StatusHoldups, WithoutABrokerTheLagSaysHowOldItIs) {
  ordered_json status = Working();
  EXPECT_THAT(StatusText(status), Not(HasSubstr("no broker")));
  status["unreached"] = "k1:9092 (Connection refused)";
  status["unreached_ms"] = 75'400;
  const std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("\nlag 12 to the ends of the logs, as they were 75 s ago\n"));
  EXPECT_THAT(text, HasSubstr("\nno broker answers at k1:9092 (Connection refused), for 75 s\n"));
}

TEST(StatusHoldups, AnyJsonIsTaken) {
  for (const char* part : {"null", "5", "-7", "1e300", "\"x\"", "[1,[]]", R"({"a":{}})", "[{}]",
                           R"([{"oldest":{"offset":[],"why":5,"id":"\u001b"}}])"}) {
    for (const char* key : {"partitions", "stops", "missing_topics", "unreached", "unreached_ms",
                            "age_ms", "lag", "retrying", "error"}) {
      ordered_json status = Working();
      status[key] = ordered_json::parse(part);
      EXPECT_THAT(StatusText(status), Not(HasSubstr("\x1b"))) << status;
      for (const std::string& line : Standstills(status, kStalledAfter)) {
        EXPECT_THAT(line, Not(HasSubstr("\x1b")));
      }
    }
  }
}

}  // namespace
}  // namespace oncemq
