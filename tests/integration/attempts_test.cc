// SPDX-License-Identifier: Apache-2.0
// Attempts that fail are counted on by the heirs of a killed member, on a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "guarded_target.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#include "member_process.h"
#include "storm.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class KafkaAttempts : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
#ifdef ONCEMQ_WITH_POSTGRES
    if (GetParam() == "guarded-postgres") {
      ONCEMQ_REQUIRE_POSTGRES();
      database_ = PostgresServer::Start();
      ASSERT_TRUE(MigratePostgresWindow(database_->url(), "oncemq"));
      environment_["ONCEMQ_POSTGRES_URL"] = database_->url();
    }
#endif
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name =
        "attempts-" + GetParam() + "-" + std::to_string(test.line());  // one topic for each test
    setup_ = {SharedKafka::Get().bootstrap(), name + "-group", name, dir_.path(), GetParam()};
    KafkaAdmin(setup_.bootstrap).CreateTopic({.name = name, .partitions = 1});
    TestProducer producer(setup_.bootstrap);
    producer.Send({.topic = name, .key = "k", .value = "x", .headers = {{"message-id", "7"}}});
    producer.Flush();
  }

  // The attempts of the calls that this member has made.
  std::vector<uint32_t> AttemptsOf(uint32_t member) {
    CallLog(dir_.path() / "calls").ReadOn(calls_);
    std::vector<uint32_t> attempts;
    for (const CallRecord& call : calls_) {
      if (call.kind == CallRecord::kCalled && call.member == member) {
        attempts.push_back(call.attempt);
      }
    }
    return attempts;
  }

#ifdef ONCEMQ_WITH_POSTGRES
  std::unique_ptr<PostgresServer> database_;
#endif
  std::map<std::string, std::string> environment_{{"ONCEMQ_SESSION_MS", "2000"},
                                                  {"ONCEMQ_RETRIES_AT", "7"}};
  const TempDir dir_;
  MemberSetup setup_;
  std::vector<CallRecord> calls_;
};

TEST_P(KafkaAttempts, AnHeirCountsOnWhereAKilledMemberStopped) {
  uint32_t last = 0;
  for (uint32_t number = 0; number < 3; number++) {
    const auto member = StartMember(setup_, number, environment_);
    ASSERT_TRUE(Eventually(seconds(60), [&] { return AttemptsOf(number).size() >= 3; }))
        << LogOfMember(setup_, number);
    member->Kill9();
    const std::vector<uint32_t> attempts = AttemptsOf(number);
    EXPECT_TRUE(std::is_sorted(attempts.begin(), attempts.end()));
    EXPECT_GT(attempts.front(), last) << "member " << number;
    // The kill may have come between a claim and its call.
    EXPECT_LE(attempts.front(), last + 2) << "member " << number;
    last = attempts.back();
  }
  EXPECT_GE(last, 7u);
}

// The attempts of all owners together reach the bound, then the key goes on.
TEST_P(KafkaAttempts, AMessageThatFailsForEverIsParkedAfterTheAttemptsOfAllItsOwners) {
  constexpr uint32_t kAttempts = 12;
  environment_["ONCEMQ_ATTEMPTS"] = std::to_string(kAttempts);
  TestProducer producer(setup_.bootstrap);
  producer.Send(
      {.topic = setup_.topic, .key = "k", .value = "x", .headers = {{"message-id", "8"}}});
  producer.Flush();
  const uint32_t kills = 2;
  for (uint32_t number = 0; number < kills; number++) {
    const auto member = StartMember(setup_, number, environment_);
    ASSERT_TRUE(Eventually(seconds(60), [&] { return AttemptsOf(number).size() >= 3; }))
        << LogOfMember(setup_, number);
    member->Kill9();
  }
  const auto member = StartMember(setup_, kills, environment_);
  EXPECT_TRUE(AllCommitted(setup_.bootstrap, setup_.group, setup_.topic, 2))
      << LogOfMember(setup_, kills);
  EXPECT_EQ(member->Terminate(seconds(20)), 0) << LogOfMember(setup_, kills);
  AttemptsOf(kills);
  size_t failed = 0;
  for (const CallRecord& call : calls_) {
    failed += call.kind == CallRecord::kCalled && call.id == 7 ? 1 : 0;
  }
  // A kill may come between a call and its count, or between a claim and its call.
  EXPECT_GE(failed + kills, kAttempts);
  EXPECT_LE(failed, kAttempts + kills);
  std::ifstream record(dir_.path() / ("parked-" + std::to_string(kills)));
  const std::string parked(std::istreambuf_iterator<char>(record), {});
  EXPECT_THAT(parked, HasSubstr("gave up after 12 attempts"));
}

std::string LevelName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param == "guarded-postgres" ? "InPostgres" : "OnDisk";
}

INSTANTIATE_TEST_SUITE_P(Disk, KafkaAttempts, ::testing::Values("guarded"), LevelName);
#ifdef ONCEMQ_WITH_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, KafkaAttempts, ::testing::Values("guarded-postgres"), LevelName);
#endif

}  // namespace
}  // namespace oncemq::testing
