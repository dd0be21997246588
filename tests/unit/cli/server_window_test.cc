// SPDX-License-Identifier: Apache-2.0
// The commands for a service whose window is in PostgreSQL or Redis, as far as no server answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct AwayServer {
  const char* engine;
  const char* window;   // in the service file, without the keys that all have
  const char* failure;  // begins the line that tells it
  const char* name;     // in the first line of `check`
  const char* place;    // in the guarantee
};
constexpr AwayServer kAwayServers[] = {
#ifdef ONCEMQ_WITH_POSTGRES
    {"postgres", "at: 'postgres://u:hunter2@127.0.0.1:1/d', schema: pay",
     "`window`: PostgreSQL: ", "database", "is the schema pay of postgres://127.0.0.1:1/d."},
#endif
#ifdef ONCEMQ_WITH_REDIS
    {"redis", "at: 'redis://u:hunter2@127.0.0.1:1', prefix: pay",
     "`window`: 127.0.0.1:1: ", "Redis", "lies under the keys pay: of redis://127.0.0.1:1/0."},
#endif
};

class ServerWindowCommand : public Command, public ::testing::WithParamInterface<AwayServer> {
 protected:
  std::string File(const std::string& more = "") const {
    return Write(
        "kafka: {brokers: '127.0.0.1:1', group: payments}\n"
        "topics: payments\n"
        "window: {engine: " +
        std::string(GetParam().engine) + ", " + GetParam().window +
        ",\n         level: opaque, ids: crossing, id: key}\n" + more);
  }
};

TEST_P(ServerWindowCommand, CheckWarnsWhereOneIdIsOneOperationOverSeveralTopics) {
  const std::string one = Run("check --offline " + File()).out;
  EXPECT_THAT(one, Not(HasSubstr("# Warning")));
  const auto two = [&](const std::string& ids) {
    return Write(
        "kafka: {brokers: '127.0.0.1:1', group: payments}\n"
        "topics: [payments, refunds]\nwindow: {engine: " +
        std::string(GetParam().engine) + ", " + GetParam().window +
        ",\n         level: opaque, id: key, ids: " + ids + "}\n");
  };
  const std::string crossing = two("crossing");
  EXPECT_THAT(Run("check --offline " + crossing).out,
              HasSubstr("# Warning: One id is one operation over all 2 topics"));
  const auto json = nlohmann::json::parse(Run("check --offline --json " + crossing).out);
  EXPECT_EQ(json["warnings"].size(), 1u);
  EXPECT_THAT(Run("check --offline " + two("partition_owned")).out, Not(HasSubstr("# Warning")));
}

TEST_P(ServerWindowCommand, CheckTellsThatTheServerDoesNotAnswer) {
  const Ended ended = Run("check " + File());
  EXPECT_EQ(ended.code, 6);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith(GetParam().failure));
  ExpectOneLine(ended, "Connection refused");
  const Ended spoken = Run("check --json " + File());
  EXPECT_EQ(spoken.code, 6);
  const auto json = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(json["valid"], false);
  ASSERT_EQ(json["errors"].size(), 1u);
  EXPECT_EQ(json["errors"][0]["key"], "window");
}

// Nor do the brokers.
TEST_P(ServerWindowCommand, TheDoctorTellsThatTheServerDoesNotAnswer) {
  const Ended ended = Run("doctor " + File());
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out,
              StartsWith(std::string("window: ") + GetParam().engine + "://127.0.0.1:1/"));
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr(", does not answer: "), HasSubstr("Connection refused"),
                    HasSubstr("\nkafka: 127.0.0.1:1, does not answer: no broker answers"),
                    Not(HasSubstr("hunter2"))));
}

TEST_F(Command, TheDoctorWantsAFile) {
  const Ended ended = Run("doctor");
  EXPECT_EQ(ended.code, 2);
  ExpectOneLine(ended, "which service file? Say oncemq doctor FILE");
  EXPECT_EQ(Run("doctor " + Write("kafka: 5\n")).code, 2);
}

TEST_F(Command, CheckWithoutAFileAsksForOne) {
  const Ended ended = Run("check");
  EXPECT_EQ(ended.code, 2);
  ExpectOneLine(ended, "which service file? Say oncemq check FILE");
}

TEST_P(ServerWindowCommand, CheckOfflineAsksNobody) {
  const Ended ended = Run("check --offline " + File());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(std::string("is accepted; its ") + GetParam().name +
                                   " was not asked. In force:\n"));
  EXPECT_THAT(ended.out, HasSubstr(std::string("  engine: ") + GetParam().engine + "\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(Run("check --offline " + Write(kService)).out, HasSubstr(" is accepted. In force:"));
}

TEST_P(ServerWindowCommand, ExplainAsksNoServer) {
  const Ended ended = Run("explain guarantee -c " + File());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("window " + std::string(GetParam().engine) + ", level opaque"));
  EXPECT_THAT(Unwrapped(ended.out), HasSubstr(GetParam().place));
}

TEST_P(ServerWindowCommand, ALookIntoTheWindowAsksTheServerAndNoService) {
  const std::string file = File("admin: {socket: '" + (dir_.path() / "a.sock").string() + "'}\n");
  for (const char* command : {"window show x -c ", "window stat -c ", "window gc -c "}) {
    const Ended ended = Run(command + file);
    EXPECT_EQ(ended.code, 6) << command;
    ExpectOneLine(ended, "Connection refused");
  }
}

TEST_P(ServerWindowCommand, ARunWaitsForTheServerAndStopsAtOnce) {
  Process process(
      {.command = ShellLine("run --handler count --consume-without-effects -c " + File())});
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return ReadAll(err_).find("the store of the window does not answer") != std::string::npos;
  }));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(std::chrono::seconds(5)), 5) << ReadAll(err_);
  EXPECT_THAT(ReadAll(err_), AllOf(HasSubstr("Connection refused"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(ReadAll(out_), HasSubstr("verdict: NONE"));
}

TEST_P(ServerWindowCommand, AForgetThatFailsLeavesATraceAndItsReason) {
  const Ended ended = Run("window forget id-1 --why 'sent by mistake' -c " + File());
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("\"command\":\"window forget\""),
                               HasSubstr("\"why\":\"sent by mistake\",\"result\":\"begins\""),
                               HasSubstr("\"result\":\"unavailable: "), Not(HasSubstr("fence")),
                               Not(HasSubstr("hunter2"))));
  const Ended silent = Run("window forget id-1 --why ' ' -c " + File());
  EXPECT_EQ(silent.code, 2);
  ExpectOneLine(silent, "--why wants the reason");
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerWindowCommand, ::testing::ValuesIn(kAwayServers),
                         [](const auto& test) { return std::string(test.param.engine); });

TEST_F(Command, ARunWaitsForTheStoreOfItsLocksAndStopsAtOnce) {
  const std::string file = Write(
      "kafka: {brokers: '127.0.0.1:1', group: payments}\ntopics: payments\n"
      "window: {engine: memory, level: guarded, ids: partition_owned, id: {header: message-id}}\n"
      "locks: {at: 'redis://:hunter2@127.0.0.1:1', space: s}\n");
  Process process(
      {.command = ShellLine("run --handler count --consume-without-effects -c " + file)});
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return ReadAll(err_).find("the store of the locks does not answer") != std::string::npos;
  })) << ReadAll(err_);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(std::chrono::seconds(5)), 5) << ReadAll(err_);
  EXPECT_THAT(ReadAll(err_), Not(HasSubstr("hunter2")));
}

TEST_F(Command, AGateIsAskedAtAnAddressWithoutAPassword) {
  const Ended told = Run("gate show ref --scope s --at redis://u:hunter2@127.0.0.1:1");
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.err, AllOf(HasSubstr("ONCEMQ_WINDOW"), Not(HasSubstr("hunter2"))));
  const Ended directory = Run("gate show ref --scope s --at w.window");
  EXPECT_EQ(directory.code, 2);
  EXPECT_THAT(directory.err, HasSubstr("w.window: a directory belongs to the process"));
}

#ifdef ONCEMQ_WITH_REDIS
TEST_F(Command, AGateIsNotInTheScopeOfIdsThatAPartitionOwns) {
  const std::string file = Write(
      "kafka: {brokers: '127.0.0.1:1', group: payments}\ntopics: payments\n"
      "window: {engine: redis, at: 'redis://127.0.0.1:1', level: opaque, ids: partition_owned,\n"
      "         id: key}\n");
  for (const char* command : {"gate show ref -c ", "gate resolve ref --applied --why y -c "}) {
    const Ended told = Run(command + file);
    EXPECT_EQ(told.code, 2) << command;
    EXPECT_THAT(told.err, AllOf(HasSubstr("ids that a partition owns"),
                                HasSubstr("--at and --scope"), Not(HasSubstr("OpenLocal"))));
  }
}
#endif

}  // namespace
}  // namespace oncemq::testing
