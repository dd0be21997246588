// SPDX-License-Identifier: Apache-2.0
// A group over the window in PostgreSQL, on a real broker.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "shared_window_storm.h"
#include "support/log_file.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

// Its window through a proxy, and effects, which nothing makes unique.
class PostgresStore final : public StormStore {
 public:
  PostgresStore() {
    EXPECT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    Sql("CREATE TABLE effects (n bigserial PRIMARY KEY, id bigint, key bytea, part int, off "
        "bigint, member int)");
  }
  SqlAnswer Sql(std::string_view text) {
    const auto client =
        OpenPostgres(*ParsePostgresEndpoint(server_->url()), {.call = seconds(60)}, 1);
    EXPECT_TRUE(client) << ToString(client.error());
    auto answer = client ? (*client)->Run({text}) : Result<SqlAnswer>(client.error());
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  int64_t One(std::string_view text) {
    const SqlAnswer answer = Sql(text);
    return answer.rows.empty() ? -1 : std::stoll(answer.rows[0][0].value_or("-1"));
  }
  std::string Address() const { return PostgresServer::UrlAt(proxy_.port()); }

  std::vector<std::string> MemberWords(int number) const override {
    return {Address(), std::to_string(number)};
  }
  TcpProxy& proxy() override { return proxy_; }
  void Kill9() override { server_->Kill9(); }
  void Restart() override { server_->Restart(); }
  int64_t Effects() override { return One("SELECT count(*) FROM effects"); }
  void Judge(int ids) override {
    EXPECT_EQ(Effects(), ids);
    EXPECT_EQ(One("SELECT count(DISTINCT id) FROM effects"), ids) << "lost or doubled";
    EXPECT_EQ(One("SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY key ORDER BY n) AS "
                  "before FROM effects WHERE id % 10 <> 3) AS rows WHERE before > id"),
              0)
        << "out of order";
  }

 private:
  const std::unique_ptr<PostgresServer> server_ = PostgresServer::Start();
  TcpProxy proxy_{server_->port()};
};

class KafkaPostgresStorm : public SharedWindowStorm {};

TEST_F(KafkaPostgresStorm, NothingIsLostDoubledOrOutOfOrder) {
  ONCEMQ_REQUIRE_POSTGRES();
  Begin(std::make_unique<PostgresStore>());
  Storm(Messages());
}

// The database is silent for longer than the group lets a member be. Then it is reached again: over
// new connections once the old ones are cut, or although nobody says that they are dead.
enum class OldConnections { kCut, kDead };

class KafkaPostgresSilence : public KafkaRuntimeTest,
                             public ::testing::WithParamInterface<OldConnections> {
 protected:
  static constexpr milliseconds kCall{1'000};

  void FallSilent() {
    store_->proxy().Set(GetParam() == OldConnections::kCut ? TcpProxy::Mode::kSilent
                                                           : TcpProxy::Mode::kSwallowReplies);
  }
  void Return() {
    GetParam() == OldConnections::kCut ? store_->proxy().Cut() : store_->proxy().MuteAll();
    store_->proxy().Set(TcpProxy::Mode::kPass);
  }
  static size_t Count(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      count++;
    }
    return count;
  }

  std::unique_ptr<PostgresStore> store_;
};

TEST_P(KafkaPostgresSilence, MembershipIsKeptAndWorkGoesOnWithinFiveSeconds) {
  ONCEMQ_REQUIRE_POSTGRES();
  store_ = std::make_unique<PostgresStore>();
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
  window_options.partition_owned = true;
  window_options.call = kCall;
  const auto window = OpenPostgresWindow(store_->Address(), window_options);
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
  ASSERT_TRUE(Eventually(seconds(60), [&] { return store_->Effects() > 500; }));
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
  const int64_t before = store_->Effects();
  Return();
  EXPECT_TRUE(Eventually(seconds(5) + kCall, [&] { return store_->Effects() > before; }))
      << "it does not go on by itself";
  EXPECT_TRUE(Eventually(seconds(90), [&] {
    return store_->One("SELECT count(DISTINCT id) FROM effects") == 20'000;
  }));
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
  EXPECT_EQ(store_->Effects(), 20'000);
}

INSTANTIATE_TEST_SUITE_P(Of, KafkaPostgresSilence,
                         ::testing::Values(OldConnections::kCut, OldConnections::kDead),
                         [](const auto& one) {
                           return one.param == OldConnections::kCut ? "ConnectionsThatAreCut"
                                                                    : "ConnectionsThatAreDead";
                         });

}  // namespace
}  // namespace oncemq::testing
