// SPDX-License-Identifier: Apache-2.0
// The client of PostgreSQL against a server that is killed, paused, locked and read-only.
#include <atomic>
#include <thread>

#include "oncemq/base/mutex.h"
#include "postgres_fixture.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

using PostgresClientTest = PostgresTest;

TEST(PostgresEndpoint, IsReadStrictly) {
  EXPECT_TRUE(ParsePostgresEndpoint("postgres://u:p@h/d?sslmode=verify-full&sslrootcert=/ca.pem"));
  EXPECT_TRUE(ParsePostgresEndpoint("postgres://u@/d?host=/run/postgresql"));
  for (const char* url : {"postgresql://u@h/d", "postgres://u@h/d?sslmode=full",
                          "postgres://u@h/d?options=-c", "postgres://u@h/d?host=/run"}) {
    EXPECT_FALSE(ParsePostgresEndpoint(url)) << url;
  }
}

TEST_F(PostgresClientTest, ValuesComeBackByteForByte) {
  const std::string bytes("a\0b\r\n\xff'\\", 8);
  const SqlStatement requests{"SELECT $1::bytea, $2::bigint, $3::bytea, NULL",
                              {std::string_view(bytes), int64_t{-7}, std::string_view()}};
  for (int i = 0; i < 2; i++) {  // prepared, and then known
    const SqlAnswer answer = Run(requests);
    ASSERT_EQ(answer.rows.size(), 1u);
    EXPECT_EQ(answer.rows[0][0], bytes);
    EXPECT_EQ(answer.rows[0][1], "-7");
    EXPECT_EQ(answer.rows[0][2], "");
    EXPECT_EQ(answer.rows[0][3], std::nullopt);
  }
}

TEST_F(PostgresClientTest, SeveralStatementsAreOneTransactionOrNone) {
  Run({"CREATE TABLE numbers (n bigint PRIMARY KEY)"});
  const std::string_view insert = "INSERT INTO numbers VALUES ($1)";
  const SqlStatement twice[] = {{insert, {int64_t{1}}}, {insert, {int64_t{1}}}};
  const auto refused = client_->Try(twice);
  ASSERT_TRUE(refused.has_value()) << ToString(refused.error());
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->state, "23505");
  EXPECT_TRUE(refused->answers.empty());
  EXPECT_EQ(One({"SELECT count(*) FROM numbers"}), "0");
  const SqlStatement both[] = {{insert, {int64_t{1}}}, {insert, {int64_t{2}}}};
  const auto done = client_->Try(both);
  ASSERT_TRUE(done.has_value() && !done->refusal);
  EXPECT_EQ(done->answers.at(1).affected, 1u);
  EXPECT_EQ(One({"SELECT count(*) FROM numbers"}), "2");
}

// The server says yes to the statement, and no at the end of its transaction.
TEST_F(PostgresClientTest, WhatIsRefusedAtTheCommitWasNotDone) {
  Run({"CREATE TABLE late (n bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)"});
  const SqlStatement insert{"INSERT INTO late VALUES ($1)", {int64_t{1}}};
  Run(insert);
  const auto refused = client_->Run(insert);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().effect, Effect::kNone);
  EXPECT_EQ(One({"SELECT count(*) FROM late"}), "1");
}

TEST_F(PostgresClientTest, ATransactionIsSeenWhenItIsCommittedAndGoneWhenItIsNot) {
  Run({"CREATE TABLE rows (n bigint)"});
  for (const bool commit : {false, true}) {
    auto transaction = client_->Begin();
    ASSERT_TRUE(transaction.has_value()) << ToString(transaction.error());
    ASSERT_TRUE((*transaction)->Run({"INSERT INTO rows VALUES ($1)", {int64_t{1}}}));
    EXPECT_EQ(One({"SELECT count(*) FROM rows"}), "0");
    if (commit) {
      ASSERT_TRUE((*transaction)->Commit());
      EXPECT_FALSE((*transaction)->Commit());
    }
    transaction->reset();
    EXPECT_EQ(One({"SELECT count(*) FROM rows"}), commit ? "1" : "0");
  }
}

TEST_F(PostgresClientTest, AWrongPasswordShowsAtTheStartAndIsNotRepeated) {
  std::string url = server_->url();
  url.replace(url.find("secret"), 6, "hunter2");
  const auto wrong = Open(url);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kRefused) << ToString(wrong.error());
  EXPECT_EQ(wrong.error().message.find("hunter2"), std::string::npos);
  EXPECT_EQ(wrong.error().message.find("LOCATION"), std::string::npos) << wrong.error().message;
  const auto nowhere = Open(server_->url() + "x");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, Code::kInvalid) << "there is no such database";
  EXPECT_FALSE(Open(server_->url() + "?sslmode=require").has_value());
}

TEST_F(PostgresClientTest, APasswordThatIsRefusedIsTriedAFewTimesByAWholePool) {
  Run({"CREATE ROLE rotated LOGIN PASSWORD 'old'"});
  std::string file = "old";
  Mutex mutex;
  auto endpoint = *ParsePostgresEndpoint(server_->url());
  endpoint.user = "rotated";
  endpoint.password = "old";
  endpoint.read_login = [&]() -> Result<UserAndPassword> {
    MutexLock lock(mutex);
    return UserAndPassword{"rotated", file};
  };
  const auto pool = *OpenPostgres(endpoint, kPatient, 16);
  Run({"ALTER ROLE rotated PASSWORD 'new'"});
  Terminate("usename = 'rotated'");
  const std::string words = "password authentication failed for user \"rotated\"";
  const BootTime until = BootNow() + std::chrono::seconds(5);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> partitions;
    for (int i = 0; i < 16; i++) {
      partitions.emplace_back([&] {
        while (BootNow() < until) {
          const auto asked = pool->Run({"SELECT 1"});
          ASSERT_FALSE(asked.has_value());
          // The first ones may meet the end of their connection.
          refused += asked.error().code == Code::kRefused ? 1 : 0;
          SleepFor(milliseconds(10));
        }
      });
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LE(server_->Logged("FATAL:  " + words), 4u);
  {
    MutexLock lock(mutex);
    file = "new";
  }
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] {
    return pool->Run({"SELECT 1"}).has_value();
  })) << "the next login by the old password would follow 7 s after the first one, or later";
  EXPECT_LE(server_->Logged("FATAL:  " + words), 4u);
}

TEST_F(PostgresClientTest, AServerThatIsNotThereIsUnavailableAndNothingWasDone) {
  const LoopbackPort port;
  const auto client = Open(PostgresServer::UrlAt(port.number()));
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(PostgresClientTest, AServerThatTakesNoWritesIsRefused) {
  StartOwn({"default_transaction_read_only=on"});
  const auto client = Open(server_->url());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
}

TEST_F(PostgresClientTest, TheFirstCallAfterTheServerCameBackSucceeds) {
  StartOwn();
  Run({"SELECT 1"});
  server_->Kill9();
  const auto down = client_->Run({"SELECT 1"});
  ASSERT_FALSE(down.has_value());
  EXPECT_EQ(down.error().effect, Effect::kNone) << "a connection that is gone is not written to";
  server_->Restart();
  Run({"SELECT 1"});
}

TEST_F(PostgresClientTest, AServerThatHangsIsATimeoutWithAnUnknownEffect) {
  StartOwn();
  Run({"CREATE TABLE values (n bigint)"});
  OpenClient(kShort);
  server_->Pause();
  const BootTime began = BootNow();
  const auto hangs = client_->Run({"INSERT INTO values VALUES (1)"});
  EXPECT_LT(BootNow() - began, kPatience);
  ASSERT_FALSE(hangs.has_value());
  EXPECT_EQ(hangs.error().code, Code::kTimeout);
  EXPECT_EQ(hangs.error().effect, Effect::kUnknown);
  server_->Continue();
}

TEST_F(PostgresClientTest, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  StartOwn();
  SqlEndpoint endpoint = *ParsePostgresEndpoint(server_->url());
  TcpProxy network(endpoint.port);
  endpoint.port = network.port();
  const auto client = *OpenPostgres(endpoint, {.connect = kShort.connect, .call = kShort.call}, 1);
  network.Set(TcpProxy::Mode::kHoldReplies);
  EXPECT_EQ(client->Run({"SELECT 1"}).error().code, Code::kTimeout);
  const uint64_t said = network.said();
  std::jthread goes_on([&] {
    EXPECT_TRUE(Eventually(kPatience, [&] { return network.said() > said; }));
    network.Set(TcpProxy::Mode::kPass);  // with the late answer first
  });
  const auto answer = client->Run({"SELECT 7"});
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  EXPECT_EQ(answer->rows.at(0).at(0), "7");
}

TEST_F(PostgresClientTest, AConnectionThatTheServerEndsIsReplaced) {
  OpenClient();
  auto other = Open(server_->url());
  ASSERT_TRUE(other.has_value());
  for (int i = 0; i < 3; i++) {
    Terminate();
    const auto answer = (*other)->Run({"SELECT 1"});
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
  }
}

TEST_F(PostgresClientTest, AConnectionThatIsEndedWithinAStatementLeavesItUnknown) {
  OpenClient();
  auto other = Open(server_->url());
  ASSERT_TRUE(other.has_value());
  std::jthread sleeps([&] {
    const auto ended = (*other)->Run({"SELECT pg_sleep(20)"});
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().effect, Effect::kUnknown);
    EXPECT_EQ(ended.error().code, Code::kUnavailable);
  });
  ASSERT_TRUE(Eventually(kPatience, [&] {
    return One({"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"}) == "1";
  }));
  Terminate("wait_event = 'PgSleep'");
}

TEST_F(PostgresClientTest, ManyThreadsShareFewConnections) {
  StartOwn();
  OpenClient(kPatient, 2);
  Run({"CREATE TABLE counts (n bigint)"});
  Run({"INSERT INTO counts VALUES (0)"});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([this] {
        for (int i = 0; i < 25; i++) {
          Run({"UPDATE counts SET n = n + $1", {int64_t{1}}});
        }
      });
    }
  }
  EXPECT_EQ(One({"SELECT n FROM counts"}), "200");
  EXPECT_LE(std::stoi(One({"SELECT count(*) FROM pg_stat_activity WHERE backend_type = "
                           "'client backend'"})),
            2);
}

TEST_F(PostgresClientTest, AListenerHearsAgainAfterItsConnectionWasCut) {
  OpenClient();
  std::atomic<int> connected{0};
  std::atomic<int> heard{0};
  const auto listener = PostgresListener::Start(
      *ParsePostgresEndpoint(server_->url()), kPatient, "channel_1",
      [&](std::string_view text) {
        EXPECT_EQ(text, "word");
        heard++;
        heard.notify_all();
      },
      [&](bool hears) {
        connected += hears ? 1 : 0;
        connected.notify_all();
      });
  ASSERT_NE(listener, nullptr);
  for (int round = 0; round < 3; round++) {
    connected.wait(round);
    Run({"SELECT pg_notify('channel_1', 'word')"});
    heard.wait(round);
    Terminate("query LIKE 'LISTEN%' OR query = 'SELECT 1'");
  }
}

TEST_F(PostgresClientTest, AChannelIsALowerCaseWord) {
  for (const char* channel : {"", "A", "a b", "a;b", "\"a\""}) {
    EXPECT_EQ(PostgresListener::Start(
                  *ParsePostgresEndpoint(server_->url()), {}, channel, [](std::string_view) {},
                  [](bool) {}),
              nullptr)
        << channel;
  }
}

TEST_F(PostgresClientTest, AListenerOfAServerThatHangsEndsAtOnce) {
  StartOwn();
  std::atomic<bool> connected{false};
  auto listener = PostgresListener::Start(
      *ParsePostgresEndpoint(server_->url()), kPatient, "channel", [](std::string_view) {},
      [&](bool) {
        connected = true;
        connected.notify_all();
      });
  connected.wait(false);
  server_->Pause();
  const BootTime began = BootNow();
  listener.reset();
  EXPECT_LT(BootNow() - began,
            kPatient.call / 2);  // one that waits for the server has a call to wait
  server_->Continue();
}

}  // namespace
}  // namespace oncemq::testing
