// SPDX-License-Identifier: Apache-2.0
// Transactions over a scripted connection: the messages in which they travel.
#include "oncemq/clients/sql_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace oncemq {
namespace {

struct Script {
  std::vector<std::vector<std::string>> messages;  // the statements of each
  std::vector<milliseconds> waited;                // for each answer
  std::string refused;                             // a statement
  int opened = 0;
  std::string state = "55P03";
  std::string unanswered = {};  // a statement
};

class ScriptedSqlConnection final : public SqlConnection {
 public:
  explicit ScriptedSqlConnection(Script& script) : script_(script) { script_.opened++; }

  bool Fresh() override { return true; }
  Result<SqlOutcome> Run(std::span<const SqlStatement> statements, BootTime until) override {
    auto& message = script_.messages.emplace_back();
    script_.waited.push_back(std::chrono::ceil<milliseconds>(until - BootNow()));
    SqlOutcome outcome;
    for (const SqlStatement& statement : statements) {
      message.emplace_back(statement.text);
      if (statement.text == script_.unanswered) {
        return Error{Code::kTimeout, Effect::kUnknown, "no answer in time"};
      }
      if (statement.text == script_.refused) {
        return SqlOutcome{{}, SqlRefusal{script_.state, 0, "somebody has it", message.size() - 1}};
      }
      outcome.answers.push_back({message.size(), {}});
    }
    return outcome;
  }

 private:
  Script& script_;
};

class SqlTransactionTest : public ::testing::TestWithParam<SqlDialect> {
 protected:
  using Messages = std::vector<std::vector<std::string>>;

  void SetUp() override { Open({}); }
  void Open(const SqlTimes& times) {
    auto client = SqlClient::Open(
        GetParam(),
        [this](BootTime) -> Result<std::unique_ptr<SqlConnection>> {
          return std::unique_ptr<SqlConnection>(std::make_unique<ScriptedSqlConnection>(script_));
        },
        times, 4);
    ASSERT_TRUE(client.has_value());
    client_ = *std::move(client);
  }
  bool pipelines() const { return GetParam() == SqlDialect::kPostgres; }

  static constexpr milliseconds kShort{500};
  const std::vector<SqlStatement> reads_{{"LOCK"}, {"READ"}};
  const std::vector<SqlStatement> write_{{"WRITE"}};
  Script script_;
  std::unique_ptr<SqlClient> client_;
};

TEST_P(SqlTransactionTest, BeginsAndEndsInTheMessagesOfItsStatementsWhereThereArePipelines) {
  const auto transaction = client_->BeginLater(kShort);
  ASSERT_TRUE(transaction.has_value());
  EXPECT_TRUE(script_.messages.empty());
  const auto outcome = (*transaction)->Try(reads_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->answers.size(), 2u) << "the begin has none";
  const auto written = (*transaction)->CommitAfter(write_);
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->answers.size(), 1u) << "the end has none";
  EXPECT_EQ(script_.messages,
            pipelines()
                ? (Messages{{"START TRANSACTION", "LOCK", "READ"}, {"WRITE", "COMMIT"}})
                : (Messages{{"START TRANSACTION"}, {"LOCK"}, {"READ"}, {"WRITE"}, {"COMMIT"}}));
  for (const milliseconds waited : script_.waited) {
    EXPECT_LE(waited, kShort);
  }
  EXPECT_FALSE((*transaction)->Commit().has_value()) << "it has ended";
  ASSERT_TRUE(client_->Run({"NEXT"}));
  EXPECT_EQ(script_.opened, 1) << "the connection is used again";
}

// Not by the pipeline's own transaction: a procedure could end that one.
TEST_P(SqlTransactionTest, IsBegunAndCommittedInOneMessageWhereItIsWrittenAtOnce) {
  auto transaction = client_->BeginLater(kShort);
  ASSERT_TRUE(transaction.has_value());
  const auto outcome = (*transaction)->CommitAfter(write_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->answers.size(), std::size(write_));
  if (pipelines()) {
    EXPECT_EQ(script_.messages, (Messages{{"START TRANSACTION", "WRITE", "COMMIT"}}));
  } else {
    EXPECT_EQ(script_.messages, (Messages{{"START TRANSACTION"}, {"WRITE"}, {"COMMIT"}}));
  }
}

TEST_P(SqlTransactionTest, IsRolledBackWhenTheServerRefusesAStatement) {
  for (const std::string refused : {"LOCK", "WRITE"}) {
    script_ = {{}, {}, refused, script_.opened};
    const auto transaction = client_->BeginLater(kShort);
    ASSERT_TRUE(transaction.has_value());
    auto outcome = (*transaction)->Try(reads_);
    if (refused == "WRITE") {
      outcome = (*transaction)->CommitAfter(write_);
    }
    ASSERT_TRUE(outcome.has_value());
    EXPECT_TRUE(outcome->refusal);
    const int before = script_.opened;
    ASSERT_TRUE(client_->Run({"NEXT"}));
    if (pipelines() || refused == "WRITE") {
      EXPECT_EQ(script_.messages.end()[-2], std::vector<std::string>{"ROLLBACK"});
      EXPECT_EQ(script_.opened, before) << "the connection is kept";
    } else {
      EXPECT_EQ(script_.opened, before + 1) << "it may have refused to begin";
    }
  }
}

// The server goes down.
TEST_P(SqlTransactionTest, IsOverWithItsConnectionWhenTheRefusalSpeaksAgainstIt) {
  for (const std::string refused : {"LOCK", "WRITE"}) {
    script_ = {{}, {}, refused, script_.opened, "57P01"};
    const int before = script_.opened;
    const auto transaction = client_->BeginLater(kShort);
    ASSERT_TRUE(transaction.has_value());
    auto outcome = (*transaction)->Try(reads_);
    if (refused == "WRITE") {
      outcome = (*transaction)->CommitAfter(write_);
    }
    ASSERT_TRUE(outcome.has_value());
    EXPECT_TRUE(outcome->refusal);
    ASSERT_TRUE(client_->Run({"NEXT"}));
    EXPECT_EQ(script_.opened, before + 1) << "in the former one it is still open";
  }
}

TEST_P(SqlTransactionTest, KeepsItsConnectionWhenItIsRolledBack) {
  auto transaction = client_->BeginLater(kShort);
  ASSERT_TRUE(transaction.has_value());
  ASSERT_TRUE((*transaction)->Try(reads_));
  (*transaction)->Rollback();
  EXPECT_EQ(script_.messages.back(), std::vector<std::string>{"ROLLBACK"});
  transaction->reset();
  ASSERT_TRUE(client_->Run({"NEXT"}));
  EXPECT_EQ(script_.opened, 1);
}

TEST_P(SqlTransactionTest, ACallMayHaveLessTimeThanTheOthersAndNeverMore) {
  ASSERT_TRUE(client_->Try(write_, kShort));
  EXPECT_LE(script_.waited.back(), kShort);
  ASSERT_TRUE(client_->Try(write_, milliseconds(60'000)));
  EXPECT_LE(script_.waited.back(), SqlTimes{}.call);
}

// Where a network has forgotten all connections, each of them would cost a call its time.
TEST_P(SqlTransactionTest, AfterACallWithoutAnswerConnectionsThatStoodIdleAreNotUsedAgain) {
  Open({.call = milliseconds(20)});
  script_.unanswered = "WRITE";
  for (const bool alone : {true, false}) {
    {
      const auto one = client_->Begin();
      const auto two = client_->Begin();
      const auto three = client_->Begin();
      for (const auto* transaction : {&one, &two, &three}) {
        ASSERT_TRUE(transaction->has_value());
        (**transaction)->Rollback();
      }
    }
    const int before = script_.opened;
    SleepFor(milliseconds(21));
    if (alone) {
      EXPECT_FALSE(client_->Try(write_));
    } else {
      const auto transaction = client_->BeginLater(kShort);
      ASSERT_TRUE(transaction.has_value());
      EXPECT_FALSE((*transaction)->CommitAfter(write_));
    }
    ASSERT_TRUE(client_->Run({"NEXT"}));
    EXPECT_EQ(script_.opened, before + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlTransactionTest,
                         ::testing::Values(SqlDialect::kPostgres, SqlDialect::kMariadb),
                         [](const auto& tested) {
                           return tested.param == SqlDialect::kPostgres ? "postgres" : "mariadb";
                         });

}  // namespace
}  // namespace oncemq
