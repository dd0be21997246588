// SPDX-License-Identifier: Apache-2.0
// The row of an effect as its lock: held by the effect's transaction, or checked by a version.
#include "oncemq/locks/sql_row.h"

#include <array>
#include <atomic>
#include <thread>

#include "sql_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

constexpr SqlRowOf kAccount{.table = "row_accounts", .column = "id", .key = int64_t{1}};
constexpr SqlRowOf kOther{.table = "row_accounts", .column = "id", .key = int64_t{2}};
constexpr SqlRowOf kNone{.table = "row_accounts", .column = "id", .key = int64_t{3}};

class SqlRowTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    Sql("DROP TABLE IF EXISTS row_accounts");
    Sql("CREATE TABLE row_accounts (id bigint PRIMARY KEY, balance bigint NOT NULL, "
        "version bigint NOT NULL, kind bigint NOT NULL DEFAULT 0)");
    Sql("INSERT INTO row_accounts (id, balance, version) VALUES (1, 100, 1), (2, 100, 1)");
  }
  bool postgres() { return client().dialect() == SqlDialect::kPostgres; }
  std::unique_ptr<SqlTransaction> Begin() {
    auto transaction = client().Begin();
    EXPECT_TRUE(transaction.has_value()) << ToString(transaction.error());
    return transaction ? *std::move(transaction) : nullptr;
  }
  static RowLocked Locked(SqlSession& transaction, const SqlRowOf& row,
                          RowWait wait = RowWait::kUntilTimeout) {
    const auto locked = LockRow(transaction, row, wait);
    EXPECT_TRUE(locked.has_value()) << ToString(locked.error());
    return locked.value_or(RowLocked::kNoRow);
  }
  RowLocked LockedAlone(const SqlRowOf& row) { return Locked(*Begin(), row, RowWait::kNo); }
  // As the account reads in this session.
  static int64_t Read(SqlSession& session, const std::string& column) {
    const auto read = session.Run({"SELECT " + column + " FROM row_accounts WHERE id = 1"});
    EXPECT_TRUE(read.has_value()) << ToString(read.error());
    return read ? std::stoll(read->rows.at(0).at(0).value_or("0")) : 0;
  }
  static void Write(SqlSession& session, int64_t balance) {
    EXPECT_TRUE(session.Run(
        {"UPDATE row_accounts SET balance = " + std::to_string(balance) + " WHERE id = 1"}));
  }
  static RowUpdated Updated(SqlSession& session, int64_t version, int64_t balance,
                            const SqlRowOf& row = kAccount) {
    const std::array set{SqlAssignment{"balance", balance}};
    const auto updated = UpdateIfVersion(session, row, {"version", version}, set);
    EXPECT_TRUE(updated.has_value()) << ToString(updated.error());
    return updated.value_or(RowUpdated::kNoRow);
  }
};

// 100 + 200 - 100.
TEST_P(SqlRowTest, WhoLocksTheRowSecondReadsWhatTheFirstOneWrote) {
  const auto in = Begin();
  ASSERT_EQ(Locked(*in, kAccount), RowLocked::kYes);
  const int64_t read = Read(*in, "balance");
  std::atomic<bool> passed{false};
  std::jthread waits([&] {
    const auto out = Begin();
    EXPECT_EQ(Locked(*out, kAccount), RowLocked::kYes);
    passed = true;
    Write(*out, Read(*out, "balance") - 100);
    EXPECT_TRUE(out->Commit());
  });
  ASSERT_TRUE(Eventually(kPatience, [&] { return Waiting() > 0 || passed; }));
  EXPECT_FALSE(passed);
  Write(*in, read + 200);
  ASSERT_TRUE(in->Commit());
  waits.join();
  EXPECT_EQ(Read(client(), "balance"), 200);
}

TEST_P(SqlRowTest, WhoDoesNotWaitIsToldThatARowIsBusy) {
  auto first = Begin();
  ASSERT_EQ(Locked(*first, kAccount), RowLocked::kYes);
  EXPECT_EQ(Locked(*first, kAccount, RowWait::kNo), RowLocked::kYes) << "by itself, it is not";
  EXPECT_EQ(LockedAlone(kAccount), RowLocked::kBusy);
  EXPECT_EQ(LockedAlone(kOther), RowLocked::kYes) << "other rows stay free";
  ASSERT_TRUE(first->Commit());
  EXPECT_EQ(LockedAlone(kAccount), RowLocked::kYes);
}

TEST_P(SqlRowTest, ARowThatIsNotThereIsNotLocked) {
  const auto transaction = Begin();
  EXPECT_EQ(Locked(*transaction, kNone), RowLocked::kNoRow);
  EXPECT_EQ(Locked(*transaction, kNone, RowWait::kNo), RowLocked::kNoRow);
}

TEST_P(SqlRowTest, AWaitThatRunsOutIsAnErrorAndChangesNothing) {
  auto first = Begin();
  ASSERT_EQ(Locked(*first, kAccount), RowLocked::kYes);
  const auto second = Begin();
  ASSERT_TRUE(second->Run({postgres() ? "SET LOCAL lock_timeout = '50ms'"
                                      : "SET SESSION innodb_lock_wait_timeout = 1"}));
  const auto locked = LockRow(*second, kAccount);
  ASSERT_FALSE(locked.has_value());
  EXPECT_EQ(locked.error().effect, Effect::kNone);
  EXPECT_EQ(locked.error().code, Code::kUnavailable) << ToString(locked.error());
  ASSERT_TRUE(first->Commit());
  EXPECT_EQ(LockedAlone(kAccount), RowLocked::kYes);
}

// A key that no index is used for would lock the whole table.
TEST_P(SqlRowTest, TextAndBytesNameOneRowOnly) {
  const std::vector<std::string> collations =
      postgres() ? std::vector<std::string>{""}
                 : std::vector<std::string>{"", " COLLATE utf8mb4_bin"};
  for (const bool text : {true, false}) {
    for (const std::string& collation : collations) {
      SCOPED_TRACE((text ? "text" : "bytes") + collation);
      const std::string column =
          text ? "varchar(40)" + (postgres() ? "" : " CHARACTER SET utf8mb4" + collation)
               : std::string(postgres() ? "bytea" : "varbinary(40)");
      Sql("DROP TABLE IF EXISTS row_keys");
      Sql("CREATE TABLE row_keys (name " + column + " PRIMARY KEY, note " + column +
          ", version bigint NOT NULL)");
      Sql("INSERT INTO row_keys VALUES ('it''s \xc3\xa4', '', 1), ('b', '', 1), ('c', '', 1)");
      const auto row = [&](std::string_view key) {
        return SqlRowOf{.table = "row_keys",
                        .column = "name",
                        .key = text ? SqlColumnValue(SqlText{key}) : SqlColumnValue(key)};
      };
      const auto first = Begin();
      ASSERT_EQ(Locked(*first, row("it's \xc3\xa4")), RowLocked::kYes);
      EXPECT_EQ(LockedAlone(row("it's \xc3\xa4")), RowLocked::kBusy);
      EXPECT_EQ(LockedAlone(row("b")), RowLocked::kYes);
      EXPECT_EQ(LockedAlone(row("d")), RowLocked::kNoRow);
      const std::array set{SqlAssignment{"note", row("o'clock").key}};
      const auto updated = UpdateIfVersion(client(), row("b"), {"version", 1}, set);
      ASSERT_TRUE(updated.has_value()) << ToString(updated.error());
      EXPECT_EQ(*updated, RowUpdated::kYes);
      EXPECT_EQ(One("SELECT note FROM row_keys WHERE version = 2"), "o'clock");
    }
  }
}

TEST_P(SqlRowTest, ANameIsNoPartOfTheStatement) {
  const std::string odd = postgres() ? R"(row odd"`;--)" : R"(row odd"``;--)";
  const std::string table = postgres() ? R"("row odd""`;--")" : R"(`row odd"````;--`)";
  Sql("DROP TABLE IF EXISTS " + table);
  Sql("CREATE TABLE " + table + " (" + table + " bigint PRIMARY KEY, version bigint NOT NULL)");
  Sql("INSERT INTO " + table + " VALUES (1, 1)");
  const auto row = [&](std::string_view name) {
    return SqlRowOf{.table = name, .column = odd, .key = int64_t{1}};
  };
  EXPECT_EQ(Locked(*Begin(), row(odd)), RowLocked::kYes);
  const SqlRowOf there{
      .schema = postgres() ? "public" : "test", .table = odd, .column = odd, .key = int64_t{1}};
  EXPECT_EQ(Locked(*Begin(), there), RowLocked::kYes);
  for (const std::string_view more : {R"(row_accounts" --)", "row_accounts` -- "}) {
    EXPECT_FALSE(LockRow(*Begin(), row(more)).has_value()) << more;
  }
}

TEST_P(SqlRowTest, WhoReadAnEarlierVersionIsOvertaken) {
  const int64_t in = Read(client(), "balance");
  const int64_t out = Read(client(), "balance");
  ASSERT_EQ(Updated(client(), 1, in + 200), RowUpdated::kYes);
  EXPECT_EQ(Updated(client(), 1, out - 100), RowUpdated::kOvertaken);
  EXPECT_EQ(Read(client(), "balance"), 300);
  ASSERT_EQ(Read(client(), "version"), 2);
  EXPECT_EQ(Updated(client(), 2, Read(client(), "balance") - 100), RowUpdated::kYes);
  EXPECT_EQ(Read(client(), "balance"), 200);
  EXPECT_EQ(One("SELECT balance FROM row_accounts WHERE id = 2"), "100");
}

TEST_P(SqlRowTest, OfManyWhoChangeOneRowByItsVersionNobodyIsLost) {
  const auto add_ten = [&] {
    for (int left = 10; left > 0;) {
      const int64_t version = Read(client(), "version");  // before what it is the version of
      const int64_t balance = Read(client(), "balance");
      left -= Updated(client(), version, balance + 1) == RowUpdated::kYes ? 1 : 0;
    }
  };
  { const std::array threads{std::jthread(add_ten), std::jthread(add_ten), std::jthread(add_ten)}; }
  EXPECT_EQ(Read(client(), "balance"), 130);
  EXPECT_EQ(Read(client(), "version"), 31);
}

// In MariaDB a transaction reads on what it saw first.
TEST_P(SqlRowTest, ARowThatWasDeletedMeanwhileIsNotOvertaken) {
  EXPECT_EQ(Updated(client(), 1, 0, kNone), RowUpdated::kNoRow);
  const auto transaction = Begin();
  EXPECT_EQ(Read(*transaction, "version"), 1);
  Sql("DELETE FROM row_accounts WHERE id = 1");
  EXPECT_EQ(Updated(*transaction, 1, 0), RowUpdated::kNoRow);
}

TEST_P(SqlRowTest, WhatNamesNoSingleRowIsRefused) {
  using namespace std::string_view_literals;
  const auto refused = [&](const SqlRowOf& row) {
    const auto locked = LockRow(*Begin(), row);
    return !locked && locked.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused({.table = "row_accounts", .column = "kind", .key = int64_t{0}}));
  EXPECT_TRUE(refused({.table = "", .column = "id", .key = int64_t{1}}));
  EXPECT_TRUE(refused({.table = "row_accounts", .column = "", .key = int64_t{1}}));
  EXPECT_TRUE(refused({.table = "row_accounts\0x"sv, .column = "id", .key = int64_t{1}}));
  const std::string cut(64, 'a');
  EXPECT_EQ(refused({.table = cut, .column = "id", .key = int64_t{1}}), true)
      << "also where the database itself refuses it";
}

TEST_P(SqlRowTest, AnUpdateThatWouldBeNoneIsRefused) {
  const auto refused = [&](const SqlRowOf& row, std::span<const SqlAssignment> set) {
    const auto updated = UpdateIfVersion(*Begin(), row, {"version", 1}, set);
    return !updated && updated.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused(kAccount, {}));
  const std::array version{SqlAssignment{"version", int64_t{9}}};
  EXPECT_TRUE(refused(kAccount, version));
  const std::array nothing{SqlAssignment{"", int64_t{9}}};
  EXPECT_TRUE(refused(kAccount, nothing));
  const std::array balance{SqlAssignment{"balance", int64_t{9}}};
  EXPECT_TRUE(refused({.table = "row_accounts", .column = "kind", .key = int64_t{0}}, balance));
  EXPECT_EQ(Read(client(), "balance"), 100);
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlRowTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlRowTest);

}  // namespace
}  // namespace oncemq::testing
