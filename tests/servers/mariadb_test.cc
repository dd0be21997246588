// SPDX-License-Identifier: Apache-2.0
// The client of MariaDB against a server that is killed, paused, locked and read-only; and what
// only the locks there do.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "mariadb_fixture.h"
#include "oncemq/locks/mariadb_locks.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

const MariadbLockOptions kPatiently{.connect = kPatient.connect, .call = kPatient.call};

using MariadbClientTest = MariadbTest;
using MariadbLocksTest = MariadbTest;

TEST_F(MariadbClientTest, ValuesComeBackByteForByte) {
  Run({"CREATE TABLE bytes (b MEDIUMBLOB, n BIGINT, u BIGINT UNSIGNED, v VARBINARY(10))"});
  const std::string bytes("a\0b\r\n\xff'\\", 8);
  const std::string large(300'000, '\xfe');
  for (const std::string& blob : {bytes, large}) {
    Run({"DELETE FROM bytes"});
    Run({"INSERT INTO bytes VALUES (?, ?, ?, NULL)",
         {std::string_view(blob), std::numeric_limits<int64_t>::min(), int64_t{7}}});
    const SqlAnswer answer = Run({"SELECT b, n, u, v, ? FROM bytes", {std::string_view()}});
    ASSERT_EQ(answer.rows.size(), 1u);
    EXPECT_EQ(answer.rows[0][0], blob);
    EXPECT_EQ(answer.rows[0][1], "-9223372036854775808");
    EXPECT_EQ(answer.rows[0][2], "7");
    EXPECT_EQ(answer.rows[0][3], std::nullopt);
    EXPECT_EQ(answer.rows[0][4], "");
  }
  const SqlAnswer plain = Run({"SELECT b, v FROM bytes"});
  EXPECT_EQ(plain.rows[0][0], large);
  EXPECT_EQ(plain.rows[0][1], std::nullopt);
}

TEST_F(MariadbClientTest, TextFlagsAndNullGoAsTheyAre) {
  Run(
      {"CREATE TABLE kinds (t VARCHAR(9) CHARACTER SET latin1, f BOOLEAN, d DECIMAL(12, 2), "
       "at DATETIME(6), j JSON, n BIGINT, b BLOB)"});
  const std::string_view insert = "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?)";
  Run({insert,
       {SqlText{"\xC3\xA4'"}, true, SqlText{"1234567890.50"}, SqlText{"2026-11-27 03:04:05.123456"},
        SqlText{R"({"a":1})"}, int64_t{-7}, std::string_view("\xff")}});
  const SqlAnswer answer = Run({"SELECT t, f, d, at, j, n, b FROM kinds WHERE t = ? AND f = ?",
                                {SqlText{"\xC3\xA4'"}, true}});
  EXPECT_EQ(answer.rows,
            std::vector<SqlRow>({{"\xC3\xA4'", "1", "1234567890.50", "2026-11-27 03:04:05.123456",
                                  R"({"a":1})", "-7", "\xff"}}));
  Run({"DELETE FROM kinds"});
  Run({insert, std::vector<SqlValue>(7, nullptr)});
  EXPECT_EQ(Run({"SELECT t, f, d, at, j, n, b FROM kinds"}).rows, std::vector<SqlRow>{SqlRow(7)});
}

TEST_F(MariadbClientTest, ManyRowsOfDifferentLengthsComeBack) {
  Run({"CREATE TABLE texts (t VARBINARY(1000))"});
  for (size_t length = 0; length < 30; length++) {
    const std::string text(length * length, 'x');
    EXPECT_EQ(Run({"INSERT INTO texts VALUES (?)", {std::string_view(text)}}).affected, 1u);
  }
  const SqlAnswer answer =
      Run({"SELECT t FROM texts WHERE LENGTH(t) >= ? ORDER BY LENGTH(t)", {int64_t{0}}});
  ASSERT_EQ(answer.rows.size(), 30u);
  for (size_t length = 0; length < 30; length++) {
    EXPECT_EQ(answer.rows[length][0], std::string(length * length, 'x'));
  }
}

TEST_F(MariadbClientTest, SeveralStatementsAreOneTransactionOrNone) {
  Run({"CREATE TABLE numbers (n BIGINT PRIMARY KEY)"});
  const std::string_view insert = "INSERT INTO numbers VALUES (?)";
  const SqlStatement twice[] = {{insert, {int64_t{1}}}, {insert, {int64_t{1}}}};
  const auto refused = client_->Try(twice);
  ASSERT_TRUE(refused.has_value()) << ToString(refused.error());
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->number, 1062);
  EXPECT_TRUE(refused->answers.empty());
  EXPECT_EQ(One({"SELECT COUNT(*) FROM numbers"}), "0");
  const SqlStatement both[] = {{insert, {int64_t{1}}}, {insert, {int64_t{2}}}};
  const auto done = client_->Try(both);
  ASSERT_TRUE(done.has_value() && !done->refusal);
  EXPECT_EQ(done->answers.at(1).affected, 1u);
  EXPECT_EQ(One({"SELECT COUNT(*) FROM numbers"}), "2");
}

TEST_F(MariadbClientTest, ATransactionIsSeenWhenItIsCommittedAndGoneWhenItIsNot) {
  Run({"CREATE TABLE entries (n BIGINT)"});
  for (const bool commit : {false, true}) {
    auto transaction = client_->Begin();
    ASSERT_TRUE(transaction.has_value()) << ToString(transaction.error());
    ASSERT_TRUE((*transaction)->Run({"INSERT INTO entries VALUES (?)", {int64_t{1}}}));
    EXPECT_EQ(One({"SELECT COUNT(*) FROM entries"}), "0");
    if (commit) {
      ASSERT_TRUE((*transaction)->Commit());
    }
    transaction->reset();
    EXPECT_TRUE(Eventually(
        kPatience, [&] { return One({"SELECT COUNT(*) FROM entries"}) == (commit ? "1" : "0"); }));
  }
}

TEST_F(MariadbClientTest, AStatementWithTooFewValuesIsRefusedHere) {
  OpenClient();
  const auto wrong = client_->Run({"SELECT ?, ?", {int64_t{1}}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kInternal);
}

TEST_F(MariadbClientTest, AWrongPasswordShowsAtTheStartAndIsNotRepeated) {
  std::string url = server_->url();
  url.replace(url.find("secret"), 6, "hunter2");
  const auto wrong = Open(url);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kRefused);
  EXPECT_EQ(wrong.error().message.find("hunter2"), std::string::npos);
  const auto nowhere = Open(server_->url() + "x");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, Code::kInvalid) << "there is no such database";
}

TEST_F(MariadbClientTest, AServerThatIsNotThereIsUnavailableAndNothingWasDone) {
  const LoopbackPort port;
  const auto client = Open(MariadbServer::UrlAt(port.number()));
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(MariadbClientTest, AServerThatSaysNothingToANewConnectionDoesNotKeepIt) {
  TcpProxy proxy(server_->port());
  proxy.Set(TcpProxy::Mode::kSilent);
  const BootTime began = BootNow();
  const auto client = Open(MariadbServer::UrlAt(proxy.port()), kShort);
  EXPECT_LT(BootNow() - began, kPatience);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(MariadbClientTest, AServerThatTakesNoWritesIsRefused) {
  StartOwn({"--read-only"});
  const auto client = Open(server_->url());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
}

TEST_F(MariadbClientTest, TheFirstCallAfterTheServerCameBackSucceeds) {
  StartOwn();
  Run({"SELECT 1"});
  server_->Kill9();
  const auto down = client_->Run({"SELECT 1"});
  ASSERT_FALSE(down.has_value());
  EXPECT_EQ(down.error().effect, Effect::kNone) << "a connection that is gone is not written to";
  server_->Restart();
  Run({"SELECT 1"});
}

TEST_F(MariadbClientTest, AServerThatHangsIsATimeoutWithAnUnknownEffect) {
  StartOwn();
  Run({"CREATE TABLE things (n BIGINT)"});
  OpenClient(kShort);
  server_->process().Pause();
  const BootTime began = BootNow();
  const auto hangs = client_->Run({"INSERT INTO things VALUES (1)"});
  EXPECT_LT(BootNow() - began, kPatience);
  ASSERT_FALSE(hangs.has_value());
  EXPECT_EQ(hangs.error().code, Code::kTimeout) << "by the call's own deadline";
  EXPECT_EQ(hangs.error().effect, Effect::kUnknown);
  server_->process().Continue();
  EXPECT_TRUE(Eventually(kPatience, [&] { return client_->Run({"SELECT 7"}).has_value(); }));
  EXPECT_EQ(One({"SELECT 7"}), "7") << "a late answer is not taken for that of another call";
}

TEST_F(MariadbClientTest, AConnectionThatIsEndedWithinAStatementLeavesItUnknown) {
  OpenClient();
  auto other = Open(server_->url());
  ASSERT_TRUE(other.has_value());
  std::jthread sleeps([&] {
    const auto ended = (*other)->Run({"SELECT SLEEP(15)"});
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().effect, Effect::kUnknown);
    EXPECT_EQ(ended.error().code, Code::kUnavailable);
  });
  std::string id;
  ASSERT_TRUE(Eventually(kPatience, [&] {
    id = Running("SELECT SLEEP(15%");
    return !id.empty();
  }));
  const std::string text = "KILL " + id;
  Run({text});
  sleeps.join();
  EXPECT_TRUE((*other)->Run({"SELECT 1"}).has_value()) << "it is replaced";
}

TEST_F(MariadbClientTest, ManyThreadsShareFewConnections) {
  StartOwn();
  OpenClient(kPatient, 2);
  Run({"CREATE TABLE counts (n BIGINT)"});
  Run({"INSERT INTO counts VALUES (0)"});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([this] {
        for (int i = 0; i < 25; i++) {
          Run({"UPDATE counts SET n = n + ?", {int64_t{1}}});
        }
      });
    }
  }
  EXPECT_EQ(One({"SELECT n FROM counts"}), "200");
  EXPECT_LE(std::stoi(One({"SELECT COUNT(*) FROM information_schema.processlist WHERE "
                           "user = 'oncemq'"})),
            2);
}

TEST_F(MariadbLocksTest, WhoMayNotMakeTheTablesIsToldHowTheyAreMade) {
  StartOwn();
  Run({"CREATE USER app@'%' IDENTIFIED BY 'secret'"});
  Run({"CREATE DATABASE apps"});
  Run({"GRANT SELECT, INSERT, UPDATE, DELETE ON apps.* TO app@'%'"});
  std::string url = server_->url();
  url.replace(url.find("/test"), 5, "/apps");
  std::string restricted = url;
  restricted.replace(restricted.find("oncemq"), 6, "app");
  const auto refused = OpenMariadbLocks(restricted, kPatiently);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("CREATE TABLE"), std::string::npos);
  ASSERT_TRUE(OpenMariadbLocks(url, kPatiently));
  const auto locks = OpenMariadbLocks(restricted, kPatiently);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_TRUE((*locks)->Request({.name = "x",
                                 .token = {1, 1},
                                 .lease = milliseconds(9'000),
                                 .queue_lease = milliseconds(9'000)}));
}

TEST_F(MariadbLocksTest, ManyWhoMakeTheTablesAtOnceAllFindThem) {
  StartOwn();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&] {
      const auto locks = OpenMariadbLocks(server_->url(), kPatiently);
      EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    });
  }
}

// A time zone in which an hour comes twice a year would be a clock that goes back.
TEST_F(MariadbLocksTest, TheTimeZoneOfTheServerDoesNotMatter) {
  StartOwn({"--default-time-zone=-11:00"});
  const auto locks = OpenMariadbLocks(server_->url(), kPatiently);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto granted = (*locks)->Request({.name = "x",
                                          .token = {1, 1},
                                          .lease = milliseconds(9'000),
                                          .queue_lease = milliseconds(9'000)});
  ASSERT_TRUE(granted.has_value()) << ToString(granted.error());
  const auto seconds = static_cast<int64_t>(granted->fence.token / 1'000'000);
  EXPECT_LE(std::abs(seconds - std::stoll(One({"SELECT UNIX_TIMESTAMP()"}))), 60);
}

// One looks for all who wait for a name in this process, and less and less often.
TEST_F(MariadbLocksTest, ThoseWhoWaitAskTheServerAFewTimesASecond) {
  StartOwn();
  const auto locks = OpenMariadbLocks(server_->url(), kPatiently);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  AcquireRequest request{.name = "x",
                         .token = {1, 1},
                         .lease = milliseconds(60'000),
                         .queue_lease = milliseconds(60'000)};
  ASSERT_TRUE((*locks)->Request(request));
  const auto asked = [&] {
    return std::stol(
        One({"SELECT variable_value FROM information_schema.global_status WHERE "
             "variable_name = 'COM_STMT_EXECUTE'"}));
  };
  for (uint64_t attempt = 2; attempt < 7; attempt++) {
    request.token.attempt = attempt;
    ASSERT_EQ((*locks)->Request(request)->kind, LockAnswer::Kind::kQueued);
  }
  const long before = asked();
  const BootTime until = BootNow() + milliseconds(1'500);
  std::vector<std::jthread> waits;
  for (uint64_t attempt = 2; attempt < 7; attempt++) {
    waits.emplace_back([&, attempt] {
      AcquireRequest mine = request;
      mine.token.attempt = attempt;
      EXPECT_TRUE((*locks)->Await(mine, until, {}));
    });
  }
  waits.clear();
  EXPECT_GE(BootNow(), until);
  EXPECT_LE(asked() - before, 20);
  EXPECT_GE(asked() - before, 2);
}

}  // namespace
}  // namespace oncemq::testing
