// SPDX-License-Identifier: Apache-2.0
// examples/atomic_sql as its README runs it: real broker, real PostgreSQL, kill -9 while balances
// are being changed by statements that would add twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kTopic[] = "balances";
constexpr char kExample[] = ONCEMQ_SOURCE_DIR "/examples/atomic_sql";
constexpr seconds kPatience{120};

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class KafkaAtomicSql : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    ONCEMQ_REQUIRE_POSTGRES();
    postgres_ = PostgresServer::Start();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(postgres_->url()),
                            {milliseconds(10'000), milliseconds(30'000)});
    ASSERT_TRUE(client_->Run({TextOf(std::string(kExample) + "/schema.sql")}));
    ASSERT_TRUE(MigratePostgresWindow(postgres_->url(), "oncemq"));
    std::filesystem::create_directories(dir_.path() / "build");
    KafkaAdmin(Bootstrap()).CreateTopic({.name = kTopic, .partitions = 4});
    std::string yaml = TextOf(std::string(kExample) + "/service.yaml");
    yaml.replace(yaml.find("- payments"), 10, std::string("- ") + kTopic);
    std::ofstream(dir_.path() / "service.yaml") << yaml;
  }

  static std::string Bootstrap() { return SharedKafka::Get().bootstrap(); }

  std::unique_ptr<Process> Start() const {
    return std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_ATOMIC_SQL, "-c", dir_.path() / "service.yaml"},
                       .environment = {{"BROKER", Bootstrap()},
                                       {"PWD", dir_.path()},
                                       {"PAYMENTS_DB", postgres_->url()}},
                       .log_file = dir_.path() / "log"});
  }

  // Payment n is of n and a half.
  static void Send(int first, int last) {
    TestProducer producer(Bootstrap());
    for (int n = first; n <= last; n++) {
      SendOne(producer, "pay-" + std::to_string(n), "account-" + std::to_string(n % 10),
              std::to_string(n) + ".50");
    }
    producer.Flush();
  }
  static void SendOne(TestProducer& producer, const std::string& id, const std::string& account,
                      const std::string& amount) {
    const std::string value = R"({"account":")" + account + R"(","amount":")" + amount + "\"}";
    producer.Send(
        {.topic = kTopic, .key = account, .value = value, .headers = {{"message-id", id}}});
  }

  std::string One(std::string_view statement) const {
    const auto answer = client_->Run({statement});
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
  }
  bool SumReaches(const std::string& sum) const {
    return Eventually(kPatience, [&] { return One("SELECT sum(balance) FROM accounts") == sum; });
  }
  // Dies while its workers wait for an answer.
  void KillWhileItWrites(Process& member, int first, int last) {
    const auto others = client_->Begin();
    ASSERT_TRUE(others) << ToString(others.error());
    ASSERT_TRUE((*others)->Run({"LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"}));
    Send(first, last);
    ASSERT_TRUE(Eventually(kPatience, [&] {
      return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                 "query LIKE 'INSERT INTO accounts%'") != "0";
    })) << TextOf(dir_.path() / "log");
    member.Kill9();
    ASSERT_TRUE((*others)->Commit());
  }

  const TempDir dir_;
  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<SqlClient> client_;
};

TEST_F(KafkaAtomicSql, EachPaymentIsAddedOnceThroughAKillAndCopiesAndRefusedOnesAreKept) {
  std::unique_ptr<Process> member = Start();
  Send(1, 200);
  ASSERT_TRUE(SumReaches("20200.00")) << TextOf(dir_.path() / "log");
  ASSERT_NO_FATAL_FAILURE(KillWhileItWrites(*member, 201, 400));
  Send(1, 400);  // the producer again
  member = Start();
  ASSERT_TRUE(SumReaches("80400.00")) << TextOf(dir_.path() / "log");

  TestProducer producer(Bootstrap());
  SendOne(producer, "no-number", "account-1", "many");
  SendOne(producer, "too-large", "account-1", "10000000000");
  SendOne(producer, "negative", "account-1", "-99999");
  SendOne(producer, "the last", "account-1", "0.01");
  producer.Flush();
  ASSERT_TRUE(SumReaches("80400.01")) << "a refused payment holds up its account";
  EXPECT_EQ(member->Terminate(kPatience), 128 + SIGTERM) << TextOf(dir_.path() / "log");
  EXPECT_EQ(One("SELECT sum(balance) FROM accounts"), "80400.01");
  const std::string refused = TextOf(dir_.path() / "build/atomic_sql.refused");
  EXPECT_EQ(std::count(refused.begin(), refused.end(), '\n'), 3) << refused;
  EXPECT_THAT(refused, HasSubstr("accounts_balance_check"));
  EXPECT_THAT(refused, HasSubstr("invalid input syntax for type numeric"));
  EXPECT_THAT(TextOf(dir_.path() / "log"), HasSubstr("verdict: OK"));
}

}  // namespace
}  // namespace oncemq::testing
