// SPDX-License-Identifier: Apache-2.0
// Rule 12 on a real broker: a message that kills its process is parked, and its neighbours are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guarded_target.h"
#include "member_process.h"
#include "oncemq/framework/park.h"
#include "running_member.h"
#include "storm.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr uint32_t kOfBothPartitions = 80;  // in two partitions, in turn
constexpr uint32_t kKiller = 22;            // the twelfth of partition 0
constexpr uint32_t kDeaths = 3;             // alone, by default
constexpr uint32_t kPatience = kDeaths + 4;

class KafkaKiller : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    const std::string name = "killer-" + GetParam();
    setup_ = {SharedKafka::Get().bootstrap(), name + "-group", name, dir_.path(), GetParam()};
    KafkaAdmin(setup_.bootstrap).CreateTopic({.name = name, .partitions = 2});
    const auto made = CreateParkTopics(Parking(), seconds(20));
    ASSERT_TRUE(made) << ToString(made.error());
    TestProducer producer(setup_.bootstrap);
    for (uint32_t id = 0; id < kOfBothPartitions; id++) {
      producer.Send({.topic = name,
                     .partition = static_cast<int32_t>(id % 2),
                     .key = "k" + std::to_string(id == kKiller ? kOfBothPartitions : id % 10),
                     .value = "x",
                     .headers = {{"message-id", std::to_string(id)}}});
    }
    producer.Flush();
  }

  RuntimeOptions Parking() const {
    RuntimeOptions options = QuickOptions(setup_.bootstrap, setup_.group, setup_.topic);
    options.policy.reject = RejectPolicy::kPark;
    return options;
  }
  std::vector<ParkedEntry> Parked() const {
    std::vector<ParkedEntry> entries;
    const Status read = ReadParked(Parking(), seconds(20), [&](const ParkedEntry& entry) {
      entries.push_back(entry);
      return true;
    });
    EXPECT_TRUE(read) << (read ? "" : ToString(read.error()));
    return entries;
  }
  uint64_t Committed() const {
    uint64_t sum = 0;
    for (const auto& [partition, commit] :
         KafkaAdmin(setup_.bootstrap).Committed(setup_.group, setup_.topic)) {
      sum += static_cast<uint64_t>(commit.offset);
    }
    return sum;
  }

  const TempDir dir_;
  MemberSetup setup_;
  const std::map<std::string, std::string> environment_{
      {"ONCEMQ_SESSION_MS", "2000"}, {"ONCEMQ_DIES_AT", std::to_string(kKiller)}};
};

TEST_P(KafkaKiller, AMessageThatKillsItsProcessIsParkedAloneAndItsNeighboursAreDone) {
  uint32_t deaths = 0;
  std::unique_ptr<Process> member;
  for (; Committed() < kOfBothPartitions && deaths <= kPatience;
       deaths += member->Running() ? 0 : 1) {
    member = StartMember(setup_, deaths, environment_);
    ASSERT_TRUE(Eventually(seconds(60), [&] {
      return !member->Running() || Committed() == kOfBothPartitions;
    })) << LogOfMember(setup_, deaths);
  }
  ASSERT_TRUE(member && member->Running()) << deaths << " deaths";
  EXPECT_EQ(member->Terminate(seconds(20)), 0) << LogOfMember(setup_, deaths);
  const Totals totals =
      ExpectCommitsAddUp(setup_.bootstrap, setup_.group, setup_.topic, kOfBothPartitions);
  EXPECT_EQ(totals.parked, 1);

  const std::vector<ParkedEntry> parked = Parked();
  ASSERT_EQ(parked.size(), 1u);
  EXPECT_EQ(parked[0].id, std::to_string(kKiller));
  EXPECT_EQ(parked[0].why, "killed its process 3 times");

  std::vector<CallRecord> calls;
  CallLog(dir_.path() / "calls").ReadOn(calls);
  const auto killed = std::count_if(calls.begin(), calls.end(), [](const CallRecord& call) {
    return call.kind == CallRecord::kCalled && call.id == kKiller;
  });
  EXPECT_EQ(killed, deaths);
  // Two without progress until the partition is cautious. A commit may come between them.
  EXPECT_GE(deaths, 2 + kDeaths);
  EXPECT_LE(deaths, 3 + kDeaths);

  std::map<uint32_t, int> effects;
  for (const StoredEffect& effect : GuardedTarget(dir_.path() / "target").All()) {
    effects[effect.id]++;
  }
  EXPECT_EQ(effects.size(), kOfBothPartitions - 1);
  EXPECT_EQ(effects.count(kKiller), 0u);
  for (const auto& [id, times] : effects) {
    EXPECT_EQ(times, 1) << id;
  }
}

std::string WindowName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param == "guarded" ? "OnDisk" : "InMemory";
}

INSTANTIATE_TEST_SUITE_P(Windows, KafkaKiller, ::testing::Values("guarded", "memory"), WindowName);

}  // namespace
}  // namespace oncemq::testing
