// SPDX-License-Identifier: Apache-2.0
// oncemq group status: sums, reasons to fail and the table, out of commits.
#include "group_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exit_code.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CommitMetadata Commit(const Totals& totals) {
  CommitMetadata commit;
  commit.totals = totals;
  return commit;
}

// Two members and two partitions, all done.
GroupView Working() {
  const GroupMember one{.id = "rdkafka-00ba84", .client_id = "rdkafka", .host = "/10.0.0.1"};
  const GroupMember two{.id = "rdkafka-1c55d0", .client_id = "rdkafka", .host = "/10.0.0.2"};
  GroupView view{.group = "shop"};
  view.status.state = "Stable";
  view.status.members = {one, two};
  view.status.partitions = {{.topic = "payments",
                             .partition = 0,
                             .member = one,
                             .log_start = 0,
                             .log_end = 10,
                             .committed = 10,
                             .commit = Commit({.applied = 7, .suppressed = 1, .parked = 2})},
                            {.topic = "payments",
                             .partition = 1,
                             .member = two,
                             .log_start = 0,
                             .log_end = 5,
                             .committed = 5,
                             .commit = Commit({.applied = 4, .rejected = 1})}};
  view.parked = {{"payments", 0, 1}, {"payments", 1, 0}};
  return view;
}

std::string TextOf(const GroupView& view) {
  return TableText(GroupTableOf(GroupJson(view)), {});
}

TEST(GroupText, TwoMembersHaveTheirPartitionsLagAndSums) {
  GroupView view = Working();
  view.status.partitions[0].log_end = 13;
  view.status.partitions[0].commit->uncertain = 2;
  const ordered_json json = GroupJson(view);
  EXPECT_EQ(json["state"], "Stable");
  EXPECT_EQ(json["members"].size(), 2u);
  EXPECT_EQ(json["members"][1]["partitions"], 1);
  EXPECT_EQ(json["partitions"][1]["member"]["id"], "rdkafka-1c55d0");
  EXPECT_EQ(json["partitions"][0]["lag"], 3);
  EXPECT_EQ(json["lag"], 3);
  EXPECT_EQ(json["offsets"], 15);
  EXPECT_EQ(json["totals"]["applied"], 11);
  EXPECT_EQ(json["totals"]["parked"], 2);
  EXPECT_EQ(json["difference"], 0);
  EXPECT_EQ(json["uncertain"], 2);
  EXPECT_EQ(json["parked_now"], 1);
  EXPECT_EQ(json["deliveries"], ordered_json());
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone) << "a member has what waits";
  EXPECT_EQ(
      TextOf(view),
      "group shop: Stable, members 2, lag 3\n"
      "member rdkafka-00ba84 at /10.0.0.1, partitions 1\n"
      "member rdkafka-1c55d0 at /10.0.0.2, partitions 1\n"
      "offsets 15 = applied 11 + suppressed 1 + parked 2 + rejected 1 + skipped 0, "
      "difference 0\n"
      "uncertain 2, parked now 1\n"
      "PARTITION     MEMBER                   COMMITTED  END  LAG              APPLIED  SUPPRESSED"
      "  PARKED  REJECTED  SKIPPED  DIFFERENCE  UNCERTAIN  PARKED NOW  COMMIT\n"
      "payments [0]  rdkafka/10.0.0.1 00ba84         10   13    3  ##########        7           1"
      "       2         0        0           0          2           1\n"
      "payments [1]  rdkafka/10.0.0.2 1c55d0          5    5    0  ..........        4           0"
      "       0         1        0           0          0           0\n");
}

TEST(GroupText, TheDifferenceOfTheDurableSumsIsShown) {
  GroupView view = Working();
  view.status.partitions[0].commit->totals.applied = 5;
  ordered_json json = GroupJson(view);
  EXPECT_EQ(json["partitions"][0]["difference"], 2);
  EXPECT_EQ(json["difference"], 2);
  EXPECT_EQ(json["offsets"], 15);
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone) << "markers of transactions have no outcome";
  EXPECT_THAT(TextOf(view), HasSubstr("skipped 0, difference 2: markers of transactions"));
  view.status.partitions[0].commit->totals.applied = 8;
  view.status.partitions[1].commit->totals.applied = 3;
  json = GroupJson(view);
  EXPECT_EQ(json["difference"], 0) << "one hides the other";
  EXPECT_THAT(json["wrong_sums"], ElementsAre("payments [0] has 1 outcomes more than offsets"));
  EXPECT_EQ(ExitCodeOfGroup(json), kExitVerification);
  EXPECT_THAT(TextOf(view), HasSubstr("\ndoes not add up: payments [0] has 1 outcomes more"));
}

TEST(GroupText, TheDeliveriesOfTheMemberOnThisHostHaveADifferenceToo) {
  GroupView view = Working();
  view.here = ordered_json::parse(
      R"({"group": "shop", "pid": 7,
          "counts": {"applied": 3, "handed_back": 1, "open": 1, "deliveries": 5}})");
  ordered_json json = GroupJson(view);
  EXPECT_EQ(json["deliveries"]["difference"], 0);
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone);
  EXPECT_THAT(TextOf(view),
              HasSubstr("\ndeliveries 5 = applied 3 + handed back 1 + open 1, difference 0, of "
                        "process 7 on this host since its start\n"));
  view.here["counts"]["open"] = 0;
  json = GroupJson(view);
  EXPECT_EQ(json["deliveries"]["difference"], 1);
  EXPECT_EQ(ExitCodeOfGroup(json), kExitVerification);
  view.here = ordered_json::parse(R"({"group": "shop", "counts": 5})");
  EXPECT_EQ(GroupJson(view)["deliveries"], ordered_json());
}

TEST(GroupText, TheServiceOfAnotherGroupOnThisHostIsNamedAndNotCounted) {
  GroupView view = Working();
  view.here = ordered_json::parse(
      R"({"group": "mail", "pid": 7, "counts": {"applied": 3, "deliveries": 5}})");
  const ordered_json json = GroupJson(view);
  EXPECT_EQ(json["deliveries"], ordered_json());
  EXPECT_EQ(json["other_group"], "mail");
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone) << "its sums are not ours";
  EXPECT_THAT(TextOf(view), HasSubstr("\ndeliveries not known: the service at `admin.socket` is of "
                                      "the group mail\n"));
  view.here["group"] = "shop";
  EXPECT_EQ(GroupJson(view)["other_group"], ordered_json());
}

TEST(GroupText, TwoMembersOfOneHostDiffer) {
  GroupView view = Working();
  view.status.partitions[1].member->host = view.status.partitions[0].member->host;
  const StatusTable table = GroupTableOf(GroupJson(view));
  EXPECT_EQ(table.rows[0].cells[1], "rdkafka/10.0.0.1 00ba84");
  EXPECT_EQ(table.rows[1].cells[1], "rdkafka/10.0.0.1 1c55d0");
}

TEST(GroupText, MessagesWithoutAMemberDoNotMove) {
  GroupView view = Working();
  view.status.state = "Empty";
  view.status.members.clear();
  for (GroupPartition& partition : view.status.partitions) {
    partition.member.reset();
  }
  EXPECT_EQ(ExitCodeOfGroup(GroupJson(view)), kExitDone) << "there is nothing to do";
  view.status.partitions[1].log_end = 9;
  ordered_json json = GroupJson(view);
  EXPECT_THAT(json["standstills"], ElementsAre("no member has payments [1], and 4 messages wait"));
  EXPECT_EQ(ExitCodeOfGroup(json), kExitFailed);
  EXPECT_THAT(TextOf(view), HasSubstr("\npayments [1]       -          5    9    4  "));
  view.status.state = "PreparingRebalance";
  EXPECT_EQ(ExitCodeOfGroup(GroupJson(view)), kExitDone) << "in a rebalance no member has any";
}

TEST(GroupText, APartitionWithoutACommitWaitsFromTheStartOfItsLog) {
  GroupView view = Working();
  GroupPartition& partition = view.status.partitions[1];
  partition.log_start = 2;
  partition.committed.reset();
  partition.commit.reset();
  partition.begins_at_log_start = true;
  ordered_json json = GroupJson(view);
  EXPECT_EQ(json["partitions"][1]["committed"], ordered_json());
  EXPECT_EQ(json["partitions"][1]["lag"], 3);
  EXPECT_EQ(json["lag"], 3);
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone) << "its member takes it up";
  partition.member.reset();
  json = GroupJson(view);
  EXPECT_THAT(json["standstills"], ElementsAre("no member has payments [1], and 3 messages wait"));
  EXPECT_EQ(ExitCodeOfGroup(json), kExitFailed);
  EXPECT_THAT(TextOf(view),
              HasSubstr("\npayments [1]  -                                -    5    3  "));
  partition.begins_at_log_start = false;
  json = GroupJson(view);
  EXPECT_EQ(json["lag"], ordered_json()) << "the group begins elsewhere";
  EXPECT_THAT(json["standstills"], IsEmpty());
}

TEST(GroupText, ACommitThatCannotBeTakenOnStops) {
  GroupView view = Working();
  GroupPartition& partition = view.status.partitions[0];
  partition.commit.reset();
  partition.unread = Error{Code::kNotFound, Effect::kNone, "not ours"};
  ordered_json json = GroupJson(view);
  EXPECT_FALSE(json["partitions"][0].contains("difference"));
  EXPECT_EQ(json["offsets"], 5) << "of the commits of ours";
  EXPECT_EQ(ExitCodeOfGroup(json), kExitDone) << "an operator's: the next owner takes it";
  EXPECT_THAT(TextOf(view), HasSubstr("  not ours\n"));
  partition.unread = Error{Code::kInvalid, Effect::kNone, "a newer version"};
  EXPECT_THAT(GroupJson(view)["standstills"],
              ElementsAre("payments [0] cannot start from its commit: a newer version"));
}

TEST(GroupText, ALogThatDoesNotFitItsCommitIsTold) {
  GroupView view = Working();
  view.status.partitions[0].log_start = 12;
  view.status.partitions[0].log_end = 20;
  view.status.partitions[1].log_end = 3;
  view.status.missing_topics = {"refunds"};
  EXPECT_THAT(GroupJson(view)["standstills"],
              ElementsAre("topic refunds does not exist",
                          "2 messages of payments [0] after its commit are gone from the log",
                          "the commit of payments [1] is above the end of its log"));
}

TEST(GroupText, WhatIsNotKnownIsNoNumber) {
  GroupView view = Working();
  GroupPartition& partition = view.status.partitions[1];
  partition.log_end.reset();
  partition.committed.reset();
  partition.commit.reset();
  view.parked.pop_back();
  view.status.ends_unknown = "no leader\n";
  const ordered_json json = GroupJson(view);
  EXPECT_EQ(json["lag"], ordered_json());
  EXPECT_EQ(json["parked_now"], ordered_json());
  EXPECT_EQ(json["partitions"][1]["committed"], ordered_json());
  EXPECT_THAT(json["standstills"], IsEmpty());
  EXPECT_THAT(TextOf(view), HasSubstr("members 2, lag -\n"));
  EXPECT_THAT(TextOf(view), HasSubstr("\nlogs not known: no leader\\n\n"));
}

TEST(GroupText, NoTextFromOutsidePaintsTheTerminal) {
  GroupView view = Working();
  view.status.members[0].host = "\x1b[31m";
  view.status.partitions[0].member = GroupMember{.client_id = "\x1b[31m", .host = "\n"};
  view.status.partitions[1].unread = Error{Code::kInvalid, Effect::kNone, "\x1b[31m"};
  view.here = {{"group", "\x1b[31m"}};
  EXPECT_THAT(TextOf(view), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace oncemq
