// SPDX-License-Identifier: Apache-2.0
// The command as a process: what it prints where, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "command_fixture.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using oncemq::testing::Command;
using oncemq::testing::Eventually;
using oncemq::testing::kService;
using oncemq::testing::Process;
using oncemq::testing::ReadAll;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kConsume[] = "run --handler count --consume-without-effects -c ";

TEST_F(Command, WithoutArgumentsSaysWhatIsMissing) {
  const Ended ended = Run("");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("subcommand is required"));
}

TEST_F(Command, HelpIsAResult) {
  const Ended ended = Run("--help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("oncemq check service.yaml"));
  EXPECT_EQ(ended.err, "");
}

TEST_F(Command, TheHelpOfAGroupHasExamples) {
  for (const std::string group : {"gate", "park", "window"}) {
    EXPECT_THAT(Run(group + " --help").out, HasSubstr("Examples:\n  oncemq " + group + " "));
  }
}

TEST_F(Command, AnUnknownCommandIsExplained) {
  const Ended ended = Run("chekc");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "oncemq has no command \"chekc\"; did you mean `check`?\n");
  const Ended below = Run("lock shwo x");
  EXPECT_EQ(below.code, 2);
  EXPECT_EQ(below.err, "oncemq lock has no command \"shwo\"; did you mean `show`?\n");
}

TEST_F(Command, AnUnknownOptionIsAUsageError) {
  EXPECT_EQ(Run("check --colour").code, 2);
  EXPECT_EQ(Run("check").code, 2);
  EXPECT_EQ(Run("explain").code, 2);
  EXPECT_EQ(Run("explain nothing").code, 2);
  EXPECT_EQ(Run("run -c x --handler exec").code, 2);
}

// A store that others are switched with is looked at by their record, or by its own address.
TEST_F(Command, LocksAreAtAnAddressOrUnderARecord) {
  const std::string record = " --record file:" + dir_.path().string();
  const std::string store = " --store a=redis://127.0.0.1:1";
  for (const char* command : {"lock show x", "lock ls", "lock ask-back x", "lock election x"}) {
    EXPECT_THAT(Run(command + record + store + " --at redis://127.0.0.1:1").err,
                HasSubstr("--at excludes"))
        << command;
    EXPECT_THAT(Run(command + record + store).err, HasSubstr("Say --space")) << command;
    const Ended not_begun = Run(command + record + store + " --space jobs");
    EXPECT_EQ(not_begun.code, 2) << command;
    EXPECT_THAT(not_begun.err, Not(HasSubstr("expected"))) << command;
    EXPECT_THAT(Run(command + record + store + " --space jobs --scope s").err,
                HasSubstr("beside --catalogue"))
        << command;
  }
  EXPECT_THAT(Run("lock show x").err, HasSubstr("--record with --store"));
  EXPECT_EQ(Run("lock ls -c service.yaml" + record).code, 2);
}

TEST_F(Command, VersionIsOneLine) {
  const Ended ended = Run("version");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, StartsWith("oncemq 0."));
  const Ended flag = Run("--version");
  EXPECT_EQ(flag.code, 0);
  EXPECT_EQ(flag.out, ended.out);
  EXPECT_EQ(nlohmann::json::parse(Run("version --json").out)["name"], "oncemq");
}

TEST_F(Command, CheckShowsTheOptionsInForceAndTheGuarantee) {
  const Ended ended = Run("check -c " + Write(kService));
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, HasSubstr("session_timeout: 45s"));
  EXPECT_THAT(ended.out, HasSubstr("What does not hold"));
  EXPECT_THAT(ended.out, Not(HasSubstr("hunter2")));
}

TEST_F(Command, CheckTakesTheFileWithAndWithoutAnOption) {
  const std::string file = Write(kService);
  const Ended bare = Run("check " + file);
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_EQ(bare.out, Run("check -c " + file).out);
  EXPECT_EQ(Run("check " + Write("kafka: 5\n")).code, 2);
}

TEST_F(Command, CheckTellsEveryMistakeWithItsPlace) {
  const Ended ended = Run("check -c " + Write("kafka:\n  gruop: x\n  start: soon\ntopics: a\n"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("service.yaml:2:3: unknown key `gruop`"));
  EXPECT_THAT(ended.err, HasSubstr("service.yaml:3:10: `kafka.start` must be"));
  EXPECT_THAT(ended.err, HasSubstr("`window` is missing"));
}

TEST_F(Command, CheckSpeaksJson) {
  const auto good = nlohmann::json::parse(Run("check --json -c " + Write(kService)).out);
  EXPECT_EQ(good["valid"], true);
  EXPECT_THAT(good["guarantee"].get<std::string>(), StartsWith("guarded"));
  const Ended ended = Run("check --json -c " + Write("kafka: 5\ntopics: a\n"));
  EXPECT_EQ(ended.code, 2);
  const auto bad = nlohmann::json::parse(ended.out);
  EXPECT_EQ(bad["valid"], false);
  EXPECT_EQ(bad["errors"].size(), 2u);
  EXPECT_EQ(bad["errors"][0]["line"], 1);
  EXPECT_EQ(bad["errors"][0]["column"], 1);
  EXPECT_EQ(bad["errors"][0]["key"], "window");
  EXPECT_THAT(bad["errors"][0]["message"].get<std::string>(), StartsWith("`window` is missing"));
}

TEST_F(Command, CheckSaysInFieldsWhereAMistakeIs) {
  const std::string file = Write(
      "kafka:\n  gruop: x\n  start: soon\n  group: [a]\n"
      "  properties: {sasl.password: '${file:/no/such}', client.id: 5}\n"
      "topics: [a, '']\nwindow: {engine: memory, level: guarded, ids: partition_owned, id: key}\n");
  const auto errors = nlohmann::json::parse(Run("check --json " + file).out)["errors"];
  const auto at = [&](const std::string& key) {
    for (const auto& one : errors) {
      if (one.value("key", "") == key) {
        EXPECT_EQ(one["file"], file_.string());
        return std::pair(one["line"].get<int>(), one["column"].get<int>());
      }
    }
    return std::pair(0, 0);
  };
  EXPECT_EQ(at("kafka.gruop"), std::pair(2, 3)) << errors;
  EXPECT_EQ(at("kafka.start"), std::pair(3, 10)) << errors;
  EXPECT_EQ(at("kafka.group"), std::pair(4, 10)) << errors;
  EXPECT_EQ(at("kafka.properties.sasl.password").first, 5) << errors;
  EXPECT_EQ(at("topics").first, 6) << errors;
}

TEST_F(Command, CheckSaysInFieldsWhatIsNotOfTheFile) {
  const auto of = [&](const std::string& file) {
    return nlohmann::json::parse(Run("check --json " + file).out)["errors"][0];
  };
  const auto locks = of(Write(std::string(kService) +
                              "locks: {catalogue: /no/such, application: payments, secret: x}\n"));
  EXPECT_EQ(locks["key"], "locks");
  EXPECT_FALSE(locks.contains("line"));
  const auto missing = of("/no/such/file.yaml");
  EXPECT_EQ(missing["file"], "/no/such/file.yaml");
  EXPECT_THAT(missing["message"].get<std::string>(), HasSubstr("No such file"));
  const auto tab = of(Write("kafka:\n\tgroup: x\n"));
  EXPECT_EQ(tab["line"], 2);
  EXPECT_FALSE(tab.contains("key"));
}

TEST_F(Command, CheckSaysWhatItDoesNotLookAt) {
  EXPECT_THAT(Run("check " + Write(kService)).out,
              HasSubstr("\n# Nothing else was looked at. A start also compares "));
}

TEST_F(Command, AMissingFileIsAUsageError) {
  const Ended ended = Run("check -c /no/such/file.yaml");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "/no/such/file.yaml: No such file or directory\n");
}

TEST_F(Command, ExplainNeedsNoFile) {
  const Ended ended = Run("explain guarantee");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("Three levels"));
}

TEST_F(Command, ExplainSpeaksJson) {
  const auto all = nlohmann::json::parse(Run("explain guarantee --json").out);
  EXPECT_EQ(all["by"], "levels");
  EXPECT_GE(all["paragraphs"].size(), 3u);
  const auto one = nlohmann::json::parse(Run("explain guarantee --json -c " + Write(kService)).out);
  EXPECT_EQ(one["by"], "file");
  EXPECT_EQ(one["at"], file_.string());
  EXPECT_EQ(one["engine"], "memory");
  EXPECT_THAT(one["guarantee"].get<std::string>(), StartsWith("guarded"));
}

TEST_F(Command, ExplainSaysFirstWhatAServiceDoesNotPromise) {
  const Ended ended = Run("explain guarantee -c " + Write(kService));
  EXPECT_EQ(ended.code, 0);
  EXPECT_LT(ended.out.find("forgotten when the"), ended.out.find("What holds"));
  EXPECT_EQ(Run("explain guarantee -c " + Write("kafka: 5\n")).code, 2);
}

TEST_F(Command, RunRefusesABadFileBeforeItConnects) {
  const Ended ended = Run("run --handler print -c " + Write("kafka: 5\n"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("`kafka` must be a mapping"));
}

TEST_F(Command, RunWithoutAHandlerIsRefusedInOneLine) {
  const Ended ended = Run("run -c " + Write(kService));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("oncemq run needs --handler print or --handler count: "));
  EXPECT_EQ(ended.err.find('\n'), ended.err.size() - 1) << ended.err;
  EXPECT_EQ(Run(std::string(kConsume) + Write(kService) + " --only-new").code, 2) << "one of them";
}

TEST_F(Command, ARunOnlyWatchesAndLeavesTheServiceAlone) {
  const std::string file = Write(std::string(kService) +
                                 "admin: {socket: admin/sock}\nreject: {journal: refused}\n"
                                 "log: {file: log}\n");
  for (const char* handler : {"print", "count"}) {
    std::filesystem::remove(err_);
    Process process({.command = ShellLine("run -c " + file + " --handler " + handler)});
    ASSERT_TRUE(Eventually(20s, [&] { return ReadAll(err_).find("opened") != std::string::npos; }));
    ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
    EXPECT_EQ(process.Wait(30s), 5) << "it has met no broker, and nothing else";
    const std::string said = ReadAll(err_);
    EXPECT_THAT(
        said.substr(0, said.find('\n')),
        MatchesRegex("watching payments as group \"payments.watch.[0-9a-f]{8}\": nothing is "
                     "committed to \"payments\" and its window is not touched; begins at "
                     "the start of the log"));
    for (const char* left : {"admin", "refused", "log"}) {
      EXPECT_FALSE(std::filesystem::exists(dir_.path() / left)) << left;
    }
  }
}

TEST_F(Command, ASecondProcessOnOneJournalIsRefusedAndTheFirstGoesOn) {
  const std::string journal = dir_.path() / "refused";
  const std::string config =
      Write(std::string(kService) + "reject: {journal: '" + journal + "'}\n");
  const std::filesystem::path log = dir_.path() / "first";
  Process first({.command = {"/bin/sh", "-c",
                             "exec '" ONCEMQ_PROGRAM "' " + (kConsume + config) +
                                 " >/dev/null 2>'" + log.string() + "'"}});
  ASSERT_TRUE(Eventually(30s, [&] { return ReadAll(log).find("opened") != std::string::npos; }));
  const Ended second = Run(kConsume + config);
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("is in use by another member"));
  ASSERT_EQ(kill(first.pid(), SIGTERM), 0);
  EXPECT_EQ(first.Wait(30s), 5) << "it has met no broker, and nothing else";
}

TEST_F(Command, NoAddressWithAPasswordIsTakenFromTheArguments) {
  const std::string at = "redis://u:hunter2@127.0.0.1:1";
  const std::pair<std::string, std::string> commands[] = {
      {"lock ls --at " + at, "LOCKS"},
      {"lock ls --space s --record " + at + " --store a=redis://127.0.0.1:1", "RECORD"},
      {"lock ls --space s --record redis://127.0.0.1:1 --store a=" + at, "STORES"},
      {"gate show ref --scope s --at " + at, "WINDOW"}};
  for (const auto& [command, variable] : commands) {
    const Ended told = Run(command);
    EXPECT_EQ(told.code, 2) << command;
    ExpectOneLine(told, "belongs into the environment, as ONCEMQ_" + variable + "\n");
  }
}

TEST_F(Command, ARunWithoutABrokerSaysSoAndFails) {
  for (const int number : {SIGTERM, SIGINT}) {
    std::filesystem::remove(err_);
    Process process({.command = ShellLine("run --json --handler count -c " + Write(kService))});
    ASSERT_TRUE(
        Eventually(20s, [&] { return ReadAll(err_).find("starting") != std::string::npos; }));
    ASSERT_EQ(kill(process.pid(), number), 0);
    EXPECT_EQ(process.Wait(30s), 5);
    const auto report = nlohmann::json::parse(ReadAll(out_));
    EXPECT_EQ(report["verdict"], "NONE (no broker was reached)");
    EXPECT_THAT(report["unreached"].get<std::string>(), StartsWith("127.0.0.1:1 ("));
    EXPECT_EQ(report["deliveries"], 0);
    EXPECT_EQ(report["clean"], true);
    EXPECT_THAT(ReadAll(err_), Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace oncemq
