// SPDX-License-Identifier: Apache-2.0
// Commit metadata near its 4,096 bytes: the head of a partition is stuck in its handler, and so
// many scattered messages above it are finished that the map can take no more. Then the member is
// killed, over stores on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "guarded_target.h"
#include "ledger_rows.h"
#include "member_process.h"
#include "oncemq/framework/commit_metadata.h"
#include "storm.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/power/power_loss.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr uint32_t kMessages = 20'000;
// Its numbers may still grow, and notes of deaths come.
constexpr size_t kNearlyFull = kMaxCommitMetadata - 256;

class KafkaFullMap : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    const std::string name = "full-map-" + GetParam();
    setup_ = {SharedKafka::Get().bootstrap(), name + "-group", name, dir_.path(), GetParam()};
    admin_ = std::make_unique<KafkaAdmin>(setup_.bootstrap);
    admin_->CreateTopic({.name = name, .partitions = 1});
    std::filesystem::create_directories(dir_.path() / "stores");
  }

  // Id n lies at offset n. A third of them, in no pattern, waits behind the stuck head.
  void SendAll() {
    TestProducer producer(setup_.bootstrap);
    for (uint32_t id = 0; id < kMessages; id++) {
      const bool stuck = id == 0 || id * 2'654'435'761u % 3 == 0;
      const std::string key = stuck ? "stuck" : "k" + std::to_string(id % 97);
      producer.Send({.topic = setup_.topic,
                     .key = key,
                     .value = "some payload",
                     .headers = {{"message-id", std::to_string(id)}}});
    }
    producer.Flush();
  }

  // Runs a member whose first message hangs, until its commit can take no more; kills it. The last
  // commit.
  CommittedOffset DieBehindAFullMap(std::map<std::string, std::string> environment) {
    environment["ONCEMQ_HANGS_AT"] = "0";
    const auto member = StartMember(setup_, 0, std::move(environment));
    EXPECT_TRUE(Eventually(seconds(60), [&] { return Commit().metadata.size() >= kNearlyFull; }))
        << Commit().metadata.size() << " bytes; " << LogOfMember(setup_, 0);
    member->Kill9();
    EXPECT_TRUE(admin_->WaitUntilEmpty(setup_.group, seconds(30)));
    return Commit();  // none of its own can land any more
  }

  CommittedOffset Commit() {
    const auto commits = admin_->Committed(setup_.group, setup_.topic);
    return commits.empty() ? CommittedOffset{} : commits.begin()->second;
  }

  // The next member does what is left, and leaves in order.
  void Finish() {
    const auto next = StartMember(setup_, 1);
    EXPECT_TRUE(AllCommitted(setup_.bootstrap, setup_.group, setup_.topic, kMessages))
        << LogOfMember(setup_, 1);
    EXPECT_EQ(next->Terminate(seconds(20)), 0) << LogOfMember(setup_, 1);
    const Totals totals =
        ExpectCommitsAddUp(setup_.bootstrap, setup_.group, setup_.topic, kMessages);
    EXPECT_EQ(totals.applied, kMessages);
  }

  std::set<uint32_t> CallsOf(uint32_t member) const {
    std::vector<CallRecord> calls;
    CallLog(dir_.path() / "calls").ReadOn(calls);
    std::set<uint32_t> ids;
    for (const CallRecord& call : calls) {
      if (call.kind == CallRecord::kCalled && call.member == member) {
        ids.insert(call.id);
      }
    }
    return ids;
  }

  const TempDir dir_;
  MemberSetup setup_;
  std::unique_ptr<KafkaAdmin> admin_;
};

// How many of the ids the commit calls finished.
size_t Finished(const std::set<uint32_t>& ids, const CommittedOffset& commit) {
  const auto metadata = DecodeCommit(commit.metadata, commit.offset);
  EXPECT_TRUE(metadata) << ToString(metadata.error());
  size_t finished = 0;
  for (const uint32_t id : ids) {
    finished += id < commit.offset || metadata->map.Contains(static_cast<int64_t>(id)) ? 1 : 0;
  }
  return finished;
}

TEST_P(KafkaFullMap, WhatItCallsFinishedIsNotHandledAgainAfterADeath) {
  SendAll();
  const CommittedOffset commit = DieBehindAFullMap({});
  EXPECT_EQ(commit.offset, 0);
  EXPECT_LE(commit.metadata.size(), kMaxCommitMetadata);
  EXPECT_GT(Finished(CallsOf(0), commit), 1'000u) << "the map names them";
  Finish();
  EXPECT_EQ(Finished(CallsOf(1), commit), 0u) << "of what the map calls finished";
  EXPECT_TRUE(CallsOf(1).contains(0)) << "nobody called again what died in its handler";
  if (GetParam() == "atomic") {
    ExpectLedger(dir_.path(), "atomic", setup_.group, setup_.topic,
                 {.ids = kMessages, .partitions = 1});
    return;
  }
  std::map<uint32_t, int> effects;
  for (const StoredEffect& effect : GuardedTarget(dir_.path() / "target").All()) {
    effects[effect.id]++;
  }
  EXPECT_EQ(effects.size(), kMessages);
  for (const auto& [id, times] : effects) {
    // Opaque, and under way at the death: the next handler was told (JudgeDoubt in crash_storm.cc).
    EXPECT_TRUE(times == 1 || (GetParam() == "opaque" && CallsOf(1).contains(id))) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, KafkaFullMap, ::testing::Values("opaque", "guarded", "atomic"));

class KafkaFullMapUnsynced : public KafkaFullMap {};

// With the power goes what the store had not synced, and the effects with it: then the map of the
// commit names what the store does not have, and the store is right (rule 2).
TEST_P(KafkaFullMapUnsynced, WhereTheEffectsAreInTheStoreTheMapIsBelievedNoFurther) {
  PowerLoss loss(dir_.path() / "stores", dir_.path() / "record");
  SendAll();
  const CommittedOffset commit = DieBehindAFullMap(loss.Environment());
  loss.ReadRecord();
  loss.ReplayTo(loss.entries());
  loss.Build(Keep::kSynced, /*seed=*/1, dir_.path() / "left");
  std::filesystem::remove_all(dir_.path() / "stores");
  std::filesystem::rename(dir_.path() / "left", dir_.path() / "stores");
  Finish();
  EXPECT_GT(Finished(CallsOf(1), commit), 0u) << "the store had lost nothing";
  ExpectLedger(dir_.path(), GetParam(), setup_.group, setup_.topic,
               {.ids = kMessages, .partitions = 1});
}

INSTANTIATE_TEST_SUITE_P(Windows, KafkaFullMapUnsynced, ::testing::Values("atomic-unsynced-large"));

}  // namespace
}  // namespace oncemq::testing
