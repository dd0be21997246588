// SPDX-License-Identifier: Apache-2.0
// The commands for a service whose window is in PostgreSQL, as far as no database answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kNowhere =
    "kafka: {brokers: '127.0.0.1:1', group: payments}\n"
    "topics: payments\n"
    "window: {engine: postgres, at: 'postgres://u:hunter2@127.0.0.1:1/d', schema: pay,\n"
    "         level: opaque, ids: crossing, id: key}\n";

class DatabaseCommand : public Command {
 protected:
  // One line for people, with a word of the reason and no secret.
  static void ExpectOneLine(const Ended& ended, const std::string& why) {
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(why), Not(HasSubstr("hunter2")))) << ended.out;
  }
};

TEST_F(DatabaseCommand, CheckTellsThatTheDatabaseDoesNotAnswer) {
  const Ended ended = Run("check " + Write(kNowhere));
  EXPECT_EQ(ended.code, 6);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("`window`: PostgreSQL: "));
  ExpectOneLine(ended, "Connection refused");
  const Ended spoken = Run("check --json " + Write(kNowhere));
  EXPECT_EQ(spoken.code, 6);
  const auto json = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(json["valid"], false);
  EXPECT_EQ(json["errors"].size(), 1u);
}

TEST_F(DatabaseCommand, CheckWithoutAFileAsksForOne) {
  const Ended ended = Run("check");
  EXPECT_EQ(ended.code, 2);
  ExpectOneLine(ended, "which service file? Say oncemq check FILE");
}

TEST_F(DatabaseCommand, CheckOfflineAsksNobody) {
  const Ended ended = Run("check --offline " + Write(kNowhere));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("is accepted; its database was not asked. In force:\n"));
  EXPECT_THAT(ended.out, HasSubstr("  engine: postgres\n"));
  EXPECT_THAT(ended.out, HasSubstr("The database decides"));
  EXPECT_THAT(ended.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(Run("check --offline " + Write(kService)).out, HasSubstr(" is accepted. In force:"));
}

TEST_F(DatabaseCommand, ExplainAsksNoDatabase) {
  const Ended ended = Run("explain guarantee -c " + Write(kNowhere));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("window postgres, level opaque"));
  EXPECT_THAT(ended.out, HasSubstr("is the schema pay of postgres://127.0.0.1:1/d."));
}

TEST_F(DatabaseCommand, ALookIntoTheWindowAsksTheDatabaseAndNoService) {
  const std::string file = Write(std::string(kNowhere) + "admin: {socket: '" +
                                 (dir_.path() / "a.sock").string() + "'}\n");
  for (const char* command : {"window show x -c ", "window stat -c "}) {
    const Ended ended = Run(command + file);
    EXPECT_EQ(ended.code, 6) << command;
    ExpectOneLine(ended, "Connection refused");
  }
}

TEST_F(DatabaseCommand, ARunWaitsForTheDatabaseAndStopsAtOnce) {
  Process process({.command = ShellLine("run --handler count --consume-without-effects -c " +
                                        Write(kNowhere))});
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return ReadAll(err_).find("the store of the window does not answer") != std::string::npos;
  }));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(std::chrono::seconds(5)), 5) << ReadAll(err_);
  EXPECT_THAT(ReadAll(err_), AllOf(HasSubstr("Connection refused"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(ReadAll(out_), HasSubstr("verdict: NONE"));
}

TEST_F(DatabaseCommand, AForgetThatFailsLeavesATraceAndItsReason) {
  const Ended ended = Run("window forget id-1 --why 'sent by mistake' -c " + Write(kNowhere));
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("\"command\":\"window forget\""),
                               HasSubstr("\"why\":\"sent by mistake\",\"result\":\"begins\""),
                               HasSubstr("\"result\":\"unavailable: "), Not(HasSubstr("fence")),
                               Not(HasSubstr("hunter2"))));
  const Ended silent = Run("window forget id-1 --why ' ' -c " + Write(kNowhere));
  EXPECT_EQ(silent.code, 2);
  ExpectOneLine(silent, "--why wants the reason");
}

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
