// SPDX-License-Identifier: Apache-2.0
// A group over the window in PostgreSQL, on a real broker. Members are processes that see each
// other in the database only, as on hosts of their own.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "runtime_fixture.h"
#include "support/log_file.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

int Messages() {
  const char* asked = std::getenv("ONCEMQ_SQL_MESSAGES");
  return asked != nullptr ? std::atoi(asked) : 60'000;
}

class KafkaPostgres : public KafkaRuntimeTest {
 protected:
  void SetUp() override {
    KafkaRuntimeTest::SetUp();
    ONCEMQ_REQUIRE_POSTGRES();
    server_ = PostgresServer::Start();
    proxy_ = std::make_unique<TcpProxy>(server_->port());
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    Sql("CREATE TABLE effects (n bigserial PRIMARY KEY, id bigint, key bytea, part int, off "
        "bigint, "
        "member int)");
  }
  SqlAnswer Sql(std::string_view text) {
    const auto client = OpenPostgres(*ParsePostgresPlace(server_->url()), {.call = seconds(60)}, 1);
    EXPECT_TRUE(client) << ToString(client.error());
    auto answer = client ? (*client)->Run({text}) : Result<SqlAnswer>(client.error());
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  int64_t One(std::string_view text) {
    const SqlAnswer answer = Sql(text);
    return answer.rows.empty() ? -1 : std::stoll(answer.rows[0][0].value_or("-1"));
  }
  std::string Address() const { return PostgresServer::UrlAt(proxy_->port()); }

  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<TcpProxy> proxy_;
};

// Ids 0 to n; a fifth of them comes twice, half of those in another partition. Key = id modulo 97;
// ids above `n` never appear.
class KafkaPostgresStorm : public KafkaPostgres {
 protected:
  static constexpr int kPartitions = 8;

  static bool Crosses(int id) { return id % 10 == 3; }
  static bool ComesAgain(int id) { return id % 10 == 7; }

  void Produce(TestProducer& producer, int begin, int end) {
    for (int id = begin; id < end; id++) {
      const int key = id % 97;
      const int32_t partition = key % kPartitions;
      One(producer, id, key, partition);
      if (ComesAgain(id)) {
        One(producer, id, key, partition);
      } else if (Crosses(id)) {
        One(producer, id, key, (partition + 1) % kPartitions);
      }
    }
    producer.Flush();
  }
  void One(TestProducer& producer, int id, int key, int32_t partition) {
    SendOne(producer, std::to_string(id), "k" + std::to_string(key), "x", partition);
  }
  using KafkaPostgres::One;

  std::string LogOf(int member) const { return dir_.path() / ("member-" + std::to_string(member)); }
  int Start() {
    const int number = static_cast<int>(members_.size());
    members_.push_back(std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_SQL_MEMBER, bootstrap_, group_, topic_, Address(),
                                   std::to_string(number)},
                       .log_file = LogOf(number)}));
    return number;
  }
  std::string TextOf(int member) const {
    std::ifstream log(LogOf(member));
    return std::string(std::istreambuf_iterator<char>(log), {});
  }
  int64_t Committed() {
    int64_t sum = 0;
    for (const auto& [partition, commit] : admin_->Committed(group_, topic_)) {
      sum += std::max<int64_t>(commit.offset, 0);
    }
    return sum;
  }

  const TempDir dir_;
  std::vector<std::unique_ptr<Process>> members_;
};

TEST_F(KafkaPostgresStorm, NothingIsLostDoubledOrOutOfOrder) {
  CreateTopic(kPartitions);
  const int messages = Messages();
  TestProducer producer(bootstrap_);
  Produce(producer, 0, messages / 2);
  for (int i = 0; i < 4; i++) {
    Start();
  }
  const auto reached = [&](int64_t effects) {
    return Eventually(seconds(240), [&] { return One("SELECT count(*) FROM effects") >= effects; });
  };
  ASSERT_TRUE(reached(messages / 20)) << TextOf(0);
  members_[0]->Kill9();
  Start();
  ASSERT_TRUE(reached(messages / 10));
  proxy_->Set(TcpProxy::Mode::kSwallowReplies);  // COMMITs arrive, their answers do not
  SleepFor(milliseconds(500));
  proxy_->Cut();
  proxy_->Set(TcpProxy::Mode::kPass);
  Produce(producer, messages / 2, messages);
  ASSERT_TRUE(reached(messages / 5));
  server_->Kill9();
  SleepFor(milliseconds(500));
  server_->Restart();
  ASSERT_TRUE(reached(messages / 3)) << TextOf(2);
  members_[1]->Pause();  // beyond its session
  ASSERT_TRUE(reached(messages / 2)) << TextOf(2);
  members_[2]->Kill9();
  server_->Kill9();
  server_->Restart();
  members_[1]->Continue();
  Start();
  ASSERT_TRUE(reached(messages)) << TextOf(3);
  const int64_t sent = messages + messages / 5;
  EXPECT_TRUE(Eventually(seconds(120), [&] { return Committed() == sent; })) << TextOf(3);
  for (size_t i = 0; i < members_.size(); i++) {
    if (members_[i]->Running()) {
      EXPECT_EQ(members_[i]->Terminate(seconds(30)), 0) << TextOf(static_cast<int>(i));
    }
  }
  EXPECT_EQ(One("SELECT count(*) FROM effects"), messages);
  EXPECT_EQ(One("SELECT count(DISTINCT id) FROM effects"), messages) << "lost or doubled";
  // Ids of one key rise, but for those whose copy travels through another partition.
  EXPECT_EQ(One("SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY key ORDER BY n) AS "
                "before FROM effects WHERE id % 10 <> 3) AS rows WHERE before > id"),
            0)
      << "out of order";
}

// The database is silent for longer than the group lets a member be. Then it is reached again: over
// new connections once the old ones are cut, or although nobody says that they are dead.
enum class OldConnections { kCut, kDead };

class KafkaPostgresSilence : public KafkaPostgres,
                             public ::testing::WithParamInterface<OldConnections> {
 protected:
  static constexpr milliseconds kCall{1'000};

  void FallSilent() {
    proxy_->Set(GetParam() == OldConnections::kCut ? TcpProxy::Mode::kSilent
                                                   : TcpProxy::Mode::kSwallowReplies);
  }
  void Return() {
    GetParam() == OldConnections::kCut ? proxy_->Cut() : proxy_->MuteAll();
    proxy_->Set(TcpProxy::Mode::kPass);
  }
  static size_t Count(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      count++;
    }
    return count;
  }
};

TEST_P(KafkaPostgresSilence, MembershipIsKeptAndWorkGoesOnWithinFiveSeconds) {
  constexpr int kPartitions = 64;
  CreateTopic(kPartitions);
  TestProducer producer(bootstrap_);
  for (int i = 0; i < 20'000; i++) {
    SendOne(producer, std::to_string(i), "k" + std::to_string(i % 997), "x", i % kPartitions);
  }
  producer.Flush();
  PostgresWindowOptions window_options;
  window_options.scope = group_;
  window_options.level = Level::kAtomic;
  window_options.call = kCall;
  const auto window = OpenPostgresWindow(Address(), window_options);
  ASSERT_TRUE(window) << ToString(window.error());
  LogFile log;
  RuntimeOptions options = Options();
  options.kafka.properties = {{"max.poll.interval.ms", "6000"}};
  std::atomic<int64_t> calls{0};
  RunningMember member(options, window->get(), [&](const Message& message, Context& context) {
    calls++;
    SleepFor(milliseconds(1));
    const int64_t id = std::stoll(std::string(context.id()));
    return context.sql()->Add(
               {"INSERT INTO effects (id, key, part, off) VALUES ($1, $2, $3, $4)",
                {id, *message.key(), int64_t{message.partition()}, message.offset()}})
               ? Outcome(Done{})
               : Outcome(Retry{});
  });
  ASSERT_TRUE(Eventually(seconds(60), [&] { return One("SELECT count(*) FROM effects") > 500; }));
  const int64_t assigned = static_cast<int64_t>(member.Now().partitions.size());
  EXPECT_EQ(assigned, kPartitions);
  FallSilent();
  const BootTime end = BootNow() + seconds(12);
  SleepFor(milliseconds(4'000));  // messages that were granted before
  const int64_t handled = calls;
  while (BootNow() < end) {
    const RunReport now = member.Now();
    EXPECT_EQ(now.error, "");
    EXPECT_LT(now.age, milliseconds(3'000)) << "the poll thread waits";
    SleepFor(milliseconds(100));
  }
  EXPECT_EQ(calls, handled) << "nothing runs unprotected";
  const int64_t before = One("SELECT count(*) FROM effects");
  Return();
  EXPECT_TRUE(Eventually(seconds(5) + kCall, [&] {
    return One("SELECT count(*) FROM effects") > before;
  })) << "it does not go on by itself";
  EXPECT_TRUE(Eventually(seconds(90),
                         [&] { return One("SELECT count(DISTINCT id) FROM effects") == 20'000; }));
  const RunReport report = member.Stop();
  const std::string said = log.End();
  EXPECT_EQ(Count(said, "\"assigned\""), 1u) << "it had to join again";
  for (const char* loss : {"assignment lost", "was lost to the group", "is assigned anew"}) {
    EXPECT_EQ(Count(said, loss), 0u) << loss;
  }
  for (const PartitionReport& one : report.partitions) {
    EXPECT_EQ(one.status.epoch, 1u) << one.partition << " was assigned again";
  }
  EXPECT_EQ(report.partitions.size(), size_t{kPartitions});
  EXPECT_EQ(One("SELECT count(*) FROM effects"), 20'000);
}

INSTANTIATE_TEST_SUITE_P(Of, KafkaPostgresSilence,
                         ::testing::Values(OldConnections::kCut, OldConnections::kDead),
                         [](const auto& one) {
                           return one.param == OldConnections::kCut ? "ConnectionsThatAreCut"
                                                                    : "ConnectionsThatAreDead";
                         });

}  // namespace
}  // namespace oncemq::testing
