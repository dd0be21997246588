// SPDX-License-Identifier: Apache-2.0
// examples/guarded_sql as its README runs it: real broker, real PostgreSQL, kill -9 while rows are
// being inserted.
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

constexpr char kTopic[] = "payments";
constexpr char kExample[] = ONCEMQ_SOURCE_DIR "/examples/guarded_sql";
constexpr seconds kPatience{120};

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class KafkaGuardedSql : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    ONCEMQ_REQUIRE_POSTGRES();
    postgres_ = PostgresServer::Start();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(postgres_->url()),
                            {milliseconds(10'000), milliseconds(30'000)});
    const std::string schema = TextOf(std::string(kExample) + "/schema.sql");
    ASSERT_TRUE(client_->Run({schema}));
    std::filesystem::create_directories(dir_.path() / "build");
    KafkaAdmin(Bootstrap()).CreateTopic({.name = kTopic, .partitions = 4});
  }

  static std::string Bootstrap() { return SharedKafka::Get().bootstrap(); }

  std::unique_ptr<Process> Start() const {
    return std::make_unique<Process>(ProcessOptions{
        .command = {ONCEMQ_GUARDED_SQL, "-c", std::string(kExample) + "/service.yaml"},
        .environment = {{"BROKER", Bootstrap()},
                        {"PWD", dir_.path()},
                        {"PGHOST", "127.0.0.1"},
                        {"PGPORT", std::to_string(postgres_->port())},
                        {"PGUSER", "oncemq"},
                        {"PGPASSWORD", "secret"},
                        {"PGDATABASE", "postgres"}},
        .log_file = dir_.path() / "log"});
  }

  // Payment n is of n cents.
  static void Send(int first, int last) {
    TestProducer producer(Bootstrap());
    for (int n = first; n <= last; n++) {
      SendOne(producer, "pay-" + std::to_string(n), "account-" + std::to_string(n % 10),
              std::to_string(n));
    }
    producer.Flush();
  }
  static void SendOne(TestProducer& producer, const std::string& id, const std::string& account,
                      const std::string& cents) {
    const std::string value = R"({"account":")" + account + R"(","cents":)" + cents + "}";
    producer.Send(
        {.topic = kTopic, .key = account, .value = value, .headers = {{"message-id", id}}});
  }

  std::string One(std::string_view statement) const {
    const auto answer = client_->Run({statement});
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
  }
  bool RowsReach(int count) const {
    return Eventually(
        kPatience, [&] { return One("SELECT count(*) FROM payments") == std::to_string(count); });
  }

  // Dies while its workers wait for an answer. The server carries their statements out after that.
  void KillWhileItInserts(Process& member, int first, int last) {
    const auto others = client_->Begin();
    ASSERT_TRUE(others) << ToString(others.error());
    ASSERT_TRUE((*others)->Run({"LOCK TABLE payments IN SHARE ROW EXCLUSIVE MODE"}));
    Send(first, last);
    ASSERT_TRUE(Eventually(kPatience, [&] {
      return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                 "query LIKE 'INSERT INTO payments%'") != "0";
    })) << TextOf(dir_.path() / "log");
    member.Kill9();
    ASSERT_TRUE((*others)->Commit());
  }

  const TempDir dir_;
  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<SqlClient> client_;
};

TEST_F(KafkaGuardedSql, EachOfAThousandPaymentsIsOneRowThroughTwoKillsAndRefusedOnesAreKept) {
  std::unique_ptr<Process> member = Start();
  Send(1, 400);
  ASSERT_TRUE(RowsReach(400)) << TextOf(dir_.path() / "log");
  ASSERT_NO_FATAL_FAILURE(KillWhileItInserts(*member, 401, 700));
  member = Start();
  ASSERT_TRUE(RowsReach(700)) << TextOf(dir_.path() / "log");
  ASSERT_NO_FATAL_FAILURE(KillWhileItInserts(*member, 701, 1'000));
  member = Start();
  ASSERT_TRUE(RowsReach(1'000)) << TextOf(dir_.path() / "log");

  TestProducer producer(Bootstrap());
  SendOne(producer, "no-number", "account-1", "\"many\"");
  SendOne(producer, "too-large", "account-1", "10000000000000000000");
  SendOne(producer, "negative", "account-1", "-5");
  SendOne(producer, "the last", "account-1", "1001");
  producer.Flush();
  ASSERT_TRUE(RowsReach(1'001)) << "a refused payment holds up its account";
  EXPECT_EQ(member->Terminate(kPatience), 128 + SIGTERM) << TextOf(dir_.path() / "log");
  EXPECT_EQ(One("SELECT sum(cents) FROM payments"), std::to_string(1'001 * 1'002 / 2));
  const std::string refused = TextOf(dir_.path() / "build/guarded_sql.refused");
  EXPECT_EQ(std::count(refused.begin(), refused.end(), '\n'), 3) << refused;
  EXPECT_THAT(refused, ::testing::HasSubstr("payments_cents_check"));
  EXPECT_THAT(TextOf(dir_.path() / "log"), ::testing::HasSubstr("verdict: OK"));
}

}  // namespace
}  // namespace oncemq::testing
