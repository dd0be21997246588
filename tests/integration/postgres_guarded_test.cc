// SPDX-License-Identifier: Apache-2.0
// A group over the window in PostgreSQL at the level guarded, on a real broker. The effects are in
// a target that checks the id, and tells which messages the window let run a second time.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "runtime_fixture.h"
#include "support/log_file.h"
#include "support/postgres_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

class KafkaPostgresGuarded : public KafkaRuntimeTest {
 protected:
  static constexpr int kPartitions = 6;
  static constexpr milliseconds kLease{2'000};

  void SetUp() override {
    KafkaRuntimeTest::SetUp();
    ONCEMQ_REQUIRE_POSTGRES();
    server_ = PostgresServer::Start();
    proxy_ = std::make_unique<TcpProxy>(server_->port());
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    target_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()), {.call = seconds(20)}, 8);
    ASSERT_TRUE(target_->Run({"CREATE TABLE effects (n bigserial, id bigint PRIMARY KEY)"}));
    ASSERT_TRUE(target_->Run({"CREATE TABLE known (id bigint)"}));
    CreateTopic(kPartitions);
  }
  int64_t Number(std::string_view text) {
    const auto answer = target_->Run({text});
    return answer && !answer->rows.empty() ? std::stoll(*answer->rows[0][0]) : -1;
  }
  bool Reached(int64_t effects) {
    return Eventually(seconds(120),
                      [&] { return Number("SELECT count(*) FROM effects") >= effects; });
  }
  // A copy of each tenth travels through the next partition.
  void Produce(int begin, int end) {
    TestProducer producer(bootstrap_);
    for (int id = begin; id < end; id++) {
      for (int copy = 0; copy < (id % 10 == 3 ? 2 : 1); copy++) {
        SendOne(producer, std::to_string(id), "k" + std::to_string(id % 60), "x",
                (id + copy) % kPartitions);
      }
    }
    producer.Flush();
  }
  // Takes longer than a lease, and its copy comes meanwhile.
  static bool IsSlow(int64_t id) { return id % 1'000 == 503; }
  Outcome Store(int64_t id) {
    if (IsSlow(id)) {
      SleepFor(kLease + kLease / 2);
    }
    const auto stored = target_->Run(
        {"WITH made AS (INSERT INTO effects (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING 1) "
         "INSERT INTO known SELECT $1 WHERE NOT EXISTS (SELECT FROM made)",
         {id}});
    return stored ? Outcome(Done{}) : Outcome(Retry{.why = stored.error().message});
  }

  struct Member {
    std::unique_ptr<Window> window;
    std::unique_ptr<RunningMember> running;
  };
  Member Start() {
    PostgresWindowOptions window_options;
    window_options.scope = group_;
    window_options.level = Level::kGuarded;
    window_options.times.lease = kLease;
    Member member;
    member.window = *OpenPostgresWindow(PostgresServer::UrlAt(proxy_->port()), window_options);
    RuntimeOptions options = Options();
    options.ids_partition_owned = false;
    options.workers = 4;
    options.renew_every = kLease / 8;
    member.running = std::make_unique<RunningMember>(
        options, member.window.get(), [this](const Message&, Context& context) {
          return Store(std::stoll(std::string(context.id())));
        });
    return member;
  }
  static void Stop(Member& member) {
    const RunReport& report = member.running->Stop();
    EXPECT_TRUE(report.clean && report.counts.Balanced()) << report.error;
    EXPECT_EQ(report.counts.open, 0);
  }

  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<TcpProxy> proxy_;
  std::unique_ptr<SqlClient> target_;
};

TEST_F(KafkaPostgresGuarded, ClaimsAreRenewedAndALostWindowIsCompletedFromTheLog) {
  constexpr int kIds = 6'000;
  const auto committed = [&] {
    int64_t sum = 0;
    for (const auto& [partition, commit] : admin_->Committed(group_, topic_)) {
      sum += std::max<int64_t>(commit.offset, 0);
    }
    return sum;
  };
  Produce(0, kIds / 2);
  std::vector<Member> members;
  members.push_back(Start());
  members.push_back(Start());
  ASSERT_TRUE(Reached(kIds / 20));
  proxy_->Set(TcpProxy::Mode::kSwallowReplies);  // claims arrive, their answers do not
  SleepFor(milliseconds(500));
  proxy_->Cut();
  proxy_->Set(TcpProxy::Mode::kPass);
  members.push_back(Start());
  ASSERT_TRUE(Reached(kIds / 6));
  server_->Kill9();
  server_->Restart();
  ASSERT_TRUE(Reached(kIds / 2));
  // An effect says nothing of its commit, and an uncommitted message rightly runs again.
  ASSERT_TRUE(Eventually(seconds(60), [&] { return committed() == kIds / 2 * 11 / 10; }));
  for (Member& member : members) {
    Stop(member);
  }
  // An empty backup was restored: only the log knows the finished ids.
  ASSERT_TRUE(target_->Run({"DELETE FROM oncemq.window_ids"}));
  ASSERT_TRUE(target_->Run({"UPDATE oncemq.window_partitions SET known_from = 0, known_to = 0"}));
  ASSERT_TRUE(target_->Run({"DELETE FROM known"}));
  LogFile log;
  for (Member& member : members) {
    member = Start();
  }
  Produce(0, 200);  // again
  Produce(kIds / 2, kIds);
  EXPECT_TRUE(Reached(kIds));
  EXPECT_TRUE(Eventually(seconds(60), [&] { return committed() == (kIds + 200) * 11 / 10; }));
  for (Member& member : members) {
    Stop(member);
  }
  EXPECT_EQ(Number("SELECT count(*) FROM effects"), kIds);
  EXPECT_NE(log.End().find("the window knows all that the commit calls finished"),
            std::string::npos);
  EXPECT_EQ(Number("SELECT count(*) FROM known WHERE id < 200"), 0) << "not completed";
  EXPECT_EQ(Number("SELECT count(*) FROM known WHERE id % 1000 = 503 AND id >= 3000"), 0)
      << "not renewed";
  RecordProperty("known", std::to_string(Number("SELECT count(*) FROM known")));
}

}  // namespace
}  // namespace oncemq::testing
