// SPDX-License-Identifier: Apache-2.0
// `store migrate`, as far as no database answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kNowhere =
    "kafka: {brokers: '127.0.0.1:1', group: payments}\n"
    "topics: payments\n"
    "window: {engine: postgres, at: 'postgres://u:hunter2@127.0.0.1:1/d', schema: pay,\n"
    "         level: opaque, ids: crossing, id: key}\n";

class DatabaseCommand : public Command {};

TEST_F(DatabaseCommand, MigratePrintsTheStatementsWithoutADatabase) {
  const Ended named = Run("store migrate --print --schema pay_1");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("CREATE SCHEMA IF NOT EXISTS \"pay_1\";\n"));
  EXPECT_EQ(named.err, "");
  EXPECT_THAT(Run("store migrate --print").out, HasSubstr("IF NOT EXISTS \"oncemq\";\n"));
  EXPECT_THAT(Run("store migrate --print -c " + Write(kNowhere)).out,
              HasSubstr("IF NOT EXISTS \"pay\";\n"));
  EXPECT_EQ(Run("store migrate --print --schema Pay").code, 2);
}

TEST_F(DatabaseCommand, MigrateSaysWhichArgumentIsMissingOrTooMuch) {
  const Ended nowhere = Run("store migrate");
  EXPECT_EQ(nowhere.code, 2);
  ExpectOneLine(nowhere, "which database? Say -c FILE, or --at");
  const Ended shown = Run("store migrate --at postgres://u:hunter2@h/d");
  EXPECT_EQ(shown.code, 2);
  ExpectOneLine(shown, "belongs into the environment, as ONCEMQ_WINDOW");
  EXPECT_EQ(Run("store migrate --schema x -c " + Write(kNowhere)).code, 2);
  EXPECT_EQ(Run("store migrate --at postgres://u@h/d -c " + Write(kNowhere)).code, 2);
  const Ended memory = Run("store migrate -c " + Write(kService));
  EXPECT_EQ(memory.code, 2);
  ExpectOneLine(memory, "only the window in PostgreSQL has tables");
  EXPECT_EQ(Run("store migrate -c " + Write("kafka: 5\n")).code, 2);
}

TEST_F(DatabaseCommand, MigrateTellsThatTheDatabaseDoesNotAnswerAndLeavesATrace) {
  const Ended ended = Run("store migrate -c " + Write(kNowhere));
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, HasSubstr("\"command\":\"store migrate\""));
  EXPECT_THAT(ended.err, HasSubstr("Connection refused"));
  EXPECT_THAT(ended.err, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace oncemq::testing
