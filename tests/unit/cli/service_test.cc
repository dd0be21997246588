// SPDX-License-Identifier: Apache-2.0
// The commands that ask a running service: against `oncemq run`, which waits for its broker, and
// against a service of this process whose words the test knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_fixture.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/admin.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using oncemq::testing::Command;
using oncemq::testing::Eventually;
using oncemq::testing::kService;
using oncemq::testing::Process;
using oncemq::testing::ReadAll;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class KnownRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return report; }
  RunReport Report() const override { return report; }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return found;
  }
  const std::string& guarantee() const override { return line; }
  RunReport report;
  Result<std::vector<FoundMessage>> found = std::vector<FoundMessage>{};
  std::string line = "guarded: once per id";
};

class QueriedService : public Command {
 protected:
  std::string Socket() const { return dir_.path() / "admin.sock"; }
  std::string At() const { return " --socket '" + Socket() + "'"; }
  std::string ServiceFile() const {
    return Write(std::string(kService) + "admin: {socket: '" + Socket() + "'}\n");
  }

  void Offer() {
    auto socket =
        AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime_,
                                                 .window = window_.get(),
                                                 .group = "shop",
                                                 .guarantee = "What holds\n  - \x1b[31mred\n"});
    ASSERT_TRUE(socket) << socket.error().message;
    socket_ = *std::move(socket);
  }

  // One partition.
  void WorkOn(PartitionReport partition) {
    partition.topic = "payments";
    partition.partition = 3;
    partition.status.phase = PartitionPhase::kActive;
    runtime_.report.partitions = {partition};
    Offer();
  }

  KnownRuntime runtime_;
  std::unique_ptr<Window> window_ =
      *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  std::unique_ptr<AdminSocket> socket_;
};

TEST_F(QueriedService, StatusShowsPartitionsStopsAndTheGuarantee) {
  PartitionStatus status;
  status.phase = PartitionPhase::kActive;
  status.frontier = 40;
  status.next_offset = 44;
  status.totals.applied = 30;
  runtime_.report.counts = {.deliveries = 5, .applied = 3, .open = 2, .uncertain = 1};
  runtime_.report.partitions = {
      {"payments", 3, status},
      {.topic = "payments", .partition = 4, .begun = false, .waiting = "no \x1b room"},
      {.topic = "payments", .partition = 5, .status = status, .stopped = "refused: no"},
      {.topic = "payments", .partition = 6}};
  runtime_.report.stops = {"payments/5 at offset 7: refused: no", "payments/6: \x1b[31m"};
  runtime_.report.unreached = "k1:9092";
  Offer();
  const Ended ended = Run("status" + At());
  EXPECT_EQ(ended.code, 1) << "a partition is stopped";
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, StartsWith("group shop, process "));
  EXPECT_THAT(ended.out, HasSubstr("\nguarantee: guarded: once per id"));
  EXPECT_THAT(ended.out, HasSubstr("\ndeliveries 5 = applied 3 + suppressed 0 + parked 0 + "
                                   "rejected 0 + handed back 0 + open 2\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nbeside them, in this process since its start: "
                                   "uncertain 1, own redelivery 0"));
  EXPECT_THAT(ended.out, HasSubstr("\npayments [3]: active, frontier 40, committed nothing, next "
                                   "offset 44, in total applied 30 + "));
  EXPECT_THAT(ended.out, HasSubstr("\npayments [4]: waiting: no \\u001b room; not begun\n"));
  EXPECT_THAT(ended.out, HasSubstr("\npayments [5]: stopped: refused: no; frontier 40, "));
  EXPECT_THAT(ended.out, HasSubstr("\npayments [6]: not assigned any more, frontier 0"));
  EXPECT_THAT(ended.out, HasSubstr("\nstopped: payments/6: \\u001b[31m\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("stopped: payments/5"))) << "its own line says it";
  EXPECT_THAT(ended.out, Not(HasSubstr("ever assigned")));
  EXPECT_THAT(ended.out, HasSubstr("\nno broker answers at k1:9092\n"));
  EXPECT_THAT(ended.out, HasSubstr("\ndoes not move: payments [5] is stopped\n"));
  const auto json = nlohmann::json::parse(Run("status --json" + At()).out);
  EXPECT_EQ(json["partitions"][0]["committed"], -1);
  EXPECT_EQ(json["partitions"][1]["waiting"], runtime_.report.partitions[1].waiting);
  EXPECT_EQ(json["partitions"][1]["begun"], false);
  EXPECT_EQ(json["partitions"][2]["stopped"], "refused: no");
  EXPECT_EQ(json["stops"].size(), 2u);
  EXPECT_EQ(json["pid"], getpid());
}

TEST_F(QueriedService, StatusIsAProbe) {
  PartitionReport one{.topic = "payments", .partition = 3};
  one.status.phase = PartitionPhase::kActive;
  one.unmoved = 59s;
  runtime_.report.partitions = {one};
  Offer();
  EXPECT_EQ(Run("status" + At()).code, 0);
  const Ended impatient = Run("status --stalled-after 30s" + At());
  EXPECT_EQ(impatient.code, 1);
  EXPECT_THAT(impatient.out,
              HasSubstr("\ndoes not move: nothing of payments [3] was finished for 59 s\n"));
  socket_.reset();  // its thread reads the report
  runtime_.report.partitions[0].unmoved = 60s;
  Offer();
  EXPECT_EQ(Run("status" + At()).code, 1);
  EXPECT_EQ(Run("status --stalled-after 2m" + At()).code, 0);
  const auto json = nlohmann::json::parse(Run("status --json" + At()).out);
  EXPECT_EQ(json["standstills"].size(), 1u);
  for (const char* wrong : {"60", "0s", "soon"}) {
    const Ended ended = Run(std::string("status --stalled-after ") + wrong + At());
    EXPECT_EQ(ended.code, 2) << wrong;
    EXPECT_THAT(ended.err, HasSubstr("--stalled-after takes a time with its unit"));
  }
}

TEST_F(QueriedService, AWatchWritesLinesToAFile) {
  WorkOn({.lag = 7});
  for (const auto& [arguments, line] :
       {std::pair(std::string("status --watch --every 100ms"), std::string(" payments [3]: ")),
        std::pair(std::string("status --watch --every 100ms --json"),
                  std::string(R"(,"standstills":[]})"))}) {
    Process watch({.command = ShellLine(arguments + At())});
    EXPECT_TRUE(Eventually(30s, [&, &line = line] {
      const std::string out = ReadAll(out_);
      const size_t first = out.find(line);
      const bool json = line.ends_with("}");
      return first != std::string::npos &&
             (!json || out.find(line, first + 1) != std::string::npos);
    })) << ReadAll(out_);
    EXPECT_EQ(kill(watch.pid(), SIGTERM), 0);
    watch.Wait(30s);
    EXPECT_THAT(ReadAll(out_), Not(HasSubstr("\x1b")));
  }
}

TEST_F(QueriedService, AWatchGoesOnAfterAnAnswerThatDoesNotCome) {
  Process watch({.command = ShellLine("status --watch --every 100ms" + At())});
  EXPECT_TRUE(Eventually(30s, [&] { return !ReadAll(err_).empty(); }));
  WorkOn({.lag = 7});
  EXPECT_TRUE(Eventually(30s, [&] { return !ReadAll(out_).empty(); })) << ReadAll(err_);
  EXPECT_EQ(kill(watch.pid(), SIGTERM), 0);
  watch.Wait(30s);
  for (const char* wrong : {"1", "99ms", "soon"}) {
    const Ended ended = Run(std::string("status --watch --every ") + wrong + At());
    EXPECT_EQ(ended.code, 2) << wrong;
    ExpectOneLine(ended, "--every takes a time of at least 100ms");
  }
  EXPECT_EQ(Run("status --every 5s" + At()).code, 2) << "without --watch";
  EXPECT_EQ(Run("status --watch").code, 2) << "a mistake does not get better";
}

TEST_F(QueriedService, AWatchOnATerminalDrawsATableWithBarsAndColors) {
  WorkOn({.lag = 7});
  const std::string command = "exec script -qfec \"'" ONCEMQ_PROGRAM
                              "' status --watch --every 100ms" +
                              At() + "\" /dev/null >'" + out_.string() + "'";
  for (const auto& [variable, color] : {std::pair("COLUMNS", true), std::pair("NO_COLOR", false)}) {
    std::filesystem::remove(out_);
    Process watch({.command = {"/bin/sh", "-c", command},
                   .environment = {{"TERM", "xterm"}, {variable, "1"}}});
    EXPECT_TRUE(Eventually(30s, [&] {
      const std::string out = ReadAll(out_);
      const size_t again = out.find("\x1b[H", out.find("\x1b[H") + 1);
      return again != std::string::npos && out.find("##########", again) != std::string::npos;
    })) << ReadAll(out_);
    EXPECT_EQ(ReadAll(out_).find("\x1b[32mpayments [3]") != std::string::npos, color);
    EXPECT_EQ(kill(watch.pid(), SIGTERM), 0);
    watch.Wait(30s);
  }
  std::filesystem::remove(out_);
  Process dumb({.command = {"/bin/sh", "-c", command}, .environment = {{"TERM", "dumb"}}});
  EXPECT_TRUE(Eventually(30s, [&] { return ReadAll(out_).find("]: ") != std::string::npos; }));
  EXPECT_THAT(ReadAll(out_), Not(HasSubstr("\x1b[H")));
  EXPECT_EQ(kill(dumb.pid(), SIGTERM), 0);
  dumb.Wait(30s);
}

TEST_F(QueriedService, WindowShowTakesTextAndHexDigits) {
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 2, 0);
  const std::string id("a\0b", 3);
  const ClaimRequest claim{id, {0xABC, 5}, {0, 2, 17}, owner_epoch, 0};
  ClaimAnswer answer;
  ASSERT_TRUE(window_->Claim({&claim, 1}, {&answer, 1}));
  runtime_.report.partitions = {{.topic = "refunds", .partition = 2, .source = 1},
                                {.topic = "payments", .partition = 2, .source = 0}};
  Offer();
  const std::string by_service = "# By the service that runs at " + Socket() + "\n";
  EXPECT_EQ(Run("window show nobody" + At()).out,
            by_service + "none: the window keeps nothing of this id\n");
  const Ended open = Run("window show 610062 --hex" + At());
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_EQ(open.out, by_service +
                          "open\nfrom payments [2], offset 17\n"
                          "held by the claim 0000000000000abc0000000000000005\n");
  const auto json = nlohmann::json::parse(Run("window show --json --hex 610062" + At()).out);
  EXPECT_EQ(json["state"], "open");
  const Ended wrong = Run("window show 61006 --hex" + At());
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "61006 is no id in hex digits, two for each byte\n");
  const Ended empty = Run("window show ''" + At());
  EXPECT_EQ(empty.code, 2);
  EXPECT_EQ(empty.err, "an id has 1 to 1024 bytes, not 0\n");
  EXPECT_EQ(Run("window show --hex ''" + At()).err, empty.err);
  socket_.reset();
  window_.reset();
  Offer();
  const Ended none = Run("window show x" + At());
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "the service has no window: no id is looked at\n");
}

TEST_F(QueriedService, ExplainSaysWhetherAFileOrAServiceSpeaks) {
  Offer();
  const Ended service = Run("explain guarantee" + At());
  EXPECT_EQ(service.code, 0) << service.err;
  EXPECT_EQ(service.out, "# By the service that runs at " + Socket() +
                             "; no file was read.\nWhat holds\n  - \\u001b[31mred\n");
  const Ended file = Run("explain guarantee -c " + ServiceFile());
  EXPECT_THAT(file.out, StartsWith("# By the file "));
  EXPECT_THAT(file.out, HasSubstr("; no service was asked.\nGuarantee of group `payments`"));
  EXPECT_EQ(Run("explain guarantee -c " + ServiceFile() + At()).code, 2) << "one of them";
}

TEST_F(QueriedService, ExplainPartitionSaysWhoHoldsIt) {
  PartitionReport one{.topic = "pay/ments", .partition = 3};
  one.status.phase = PartitionPhase::kActive;
  one.status.frontier = 41;
  one.status.next_offset = 44;
  one.log_end = 60;
  one.lag = 19;
  one.oldest = HeldBy{.message = {.offset = 41,
                                  .id = "p-17",
                                  .state = OpenState::kRetrying,
                                  .attempt = 7,
                                  .why = "no \x1b room",
                                  .key = "acct-5"},
                      .held_for = 75s,
                      .next_try = 2s};
  one.client = {"active", 1'500ms, {}};
  runtime_.report.partitions = {one};
  Offer();
  const Ended ended = Run("explain partition pay/ments/3" + At());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("pay/ments [3]: the handler holds it\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nmessage    offset 41 for 75 s: retrying, attempt 7, next try "
                                   "in 2 s, id p-17, key acct-5: no \\u001b room\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nposition   active, frontier 41, committed nothing, next "
                                   "offset 44, log end 60, lag 19\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nclient     fetch state active, last record 1 s ago\n"
                                   "trend      OK\nnext       "));
  const auto json = nlohmann::json::parse(Run("explain partition pay/ments/3 --json" + At()).out);
  EXPECT_EQ(json["holder"], "handler");
  EXPECT_EQ(Run("explain partition 'pay/ments [3]'" + At()).out, ended.out) << "as it is printed";
  runtime_.report.partitions[0].client = {};
  EXPECT_THAT(Run("explain partition pay/ments/3" + At()).out,
              HasSubstr(", lag 19\ntrend      OK\n"))
      << "nothing of the client is known";
  const Ended other = Run("explain partition pay/ments/4" + At());
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, StartsWith("pay/ments [4]: not this member's\nnext       "));
  for (const char* wrong :
       {"payments", "payments/", "/3", "payments/3x", "payments/99999999999", "'payments [3'",
        "'payments []'", "'payments [x]'", "payments[3]", "' [3]'", "']'"}) {
    EXPECT_EQ(Run(std::string("explain partition ") + wrong + At()).code, 2) << wrong;
  }
}

TEST_F(QueriedService, ExplainIdSaysWhereItsMessageIs) {
  runtime_.found = std::vector<FoundMessage>{
      {"payments",
       3,
       {.offset = 41, .id = "p-17", .state = OpenState::kRunning, .attempt = 1},
       {}}};
  PartitionReport one{.topic = "payments", .partition = 3};
  one.status.phase = PartitionPhase::kActive;
  runtime_.report.partitions = {one};
  Offer();
  const Ended ended = Run("explain id p-17" + At());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "id        p-17\n"
            "window    it keeps nothing of this id\n"
            "open      payments [3] offset 41: its handler runs, attempt 1, id p-17\n"
            "parked    not looked at: name the service by its file, with -c\n"
            "partition payments [3]: this member's\n"
            "next      it is open in this member: ask `oncemq explain partition payments/3` what "
            "holds it\n");
  const auto json = nlohmann::json::parse(Run("explain id --hex 702d3137 --json" + At()).out);
  EXPECT_EQ(json["id"], "p-17");
  EXPECT_EQ(json["park"], nullptr);
  EXPECT_THAT(Run("explain id p-17 -c " + ServiceFile()).out, HasSubstr("\nparked    never\n"));
  EXPECT_EQ(Run("explain id ''" + At()).code, 2);
  EXPECT_EQ(Run("explain id xy --hex" + At()).code, 2);
}

TEST_F(QueriedService, NobodyThereIsToldAndHasItsOwnExitCode) {
  const std::string why = "there is no " + Socket() + ": no service runs that offers this socket\n";
  for (const char* command :
       {"status", "window show x", "explain guarantee", "explain partition payments/3"}) {
    const Ended ended = Run(command + At());
    EXPECT_EQ(ended.code, 6) << command;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, why);
  }
  const Ended id = Run("explain id x" + At());
  EXPECT_EQ(id.code, 6);
  EXPECT_EQ(id.err, why +
                        "its window can be asked without the service: `oncemq window show ID -c "
                        "FILE`\n");
  EXPECT_EQ(Run("status " + ServiceFile()).code, 6);
}

TEST_F(QueriedService, WithoutAPlaceNobodyIsAsked) {
  const Ended neither = Run("status");
  EXPECT_EQ(neither.code, 2);
  EXPECT_EQ(neither.err, "say which service: by --socket PATH, or by its service file\n");
  EXPECT_EQ(Run("status " + ServiceFile() + At()).code, 2);
  const Ended unset = Run("status " + Write(kService));
  EXPECT_EQ(unset.code, 2);
  EXPECT_THAT(unset.err, HasSubstr("`admin.socket` is not set"));
  EXPECT_EQ(Run("status /no/such/file.yaml").code, 2);
  EXPECT_EQ(Run("status -c " + Write(kService)).err, unset.err);
  EXPECT_EQ(Run("window" + At()).code, 2);
  EXPECT_EQ(Run("window show" + At()).code, 2);
}

// Its secrets are not for every user who may ask, and it goes on without them.
TEST_F(QueriedService, IsFoundByAFileWhoseSecretsAreGone) {
  Offer();
  const std::string file = Write(
      "kafka: {brokers: '${NO_SUCH_VARIABLE}', group: payments,\n"
      "        properties: {sasl.password: '${file:/no/such/secret}'}}\n"
      "topics: payments\n"
      "window: {engine: memory, level: guarded, ids: partition_owned, id: key}\n"
      "admin: {socket: '" +
      Socket() + "'}\n");
  const Ended status = Run("status " + file);
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_THAT(status.out, StartsWith("group shop, process "));
  EXPECT_EQ(Run("check " + file).code, 2);
  EXPECT_EQ(Run("status " + Write("admin: {socket: '${NO_SUCH_VARIABLE}'}\n")).code, 2);
  EXPECT_EQ(Run("status " + Write("admin: {sockte: x}\n")).code, 2);
}

TEST_F(QueriedService, ARunningServiceAnswersAndTakesItsSocketAlong) {
  const std::string file = ServiceFile();
  Process process(
      {.command = ShellLine("run --handler count --consume-without-effects -c " + file)});
  ASSERT_TRUE(Eventually(20s, [&] { return std::filesystem::exists(Socket()); }));
  const Ended status = Run("status " + file, "asked");
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("group payments, process " + std::to_string(process.pid())));
  EXPECT_THAT(status.out, HasSubstr("no partition was ever assigned"));
  EXPECT_THAT(Run("explain guarantee" + At(), "asked").out, HasSubstr("What does not hold"));
  const Ended second = Run("run --handler count --consume-without-effects -c " + file, "asked");
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("is taken: another process answers there"));
  // As `timeout` sends them: to its child, and to the whole group.
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  kill(process.pid(), SIGINT);
  EXPECT_EQ(process.Wait(30s), 5);
  EXPECT_THAT(ReadAll(out_), HasSubstr("verdict: NONE"));
  EXPECT_FALSE(std::filesystem::exists(Socket()));
  EXPECT_THAT(ReadAll(err_), Not(HasSubstr("hunter2")));
}

TEST_F(QueriedService, PrintKeepsStandardOutputToItsLines) {
  const std::string file = ServiceFile();
  for (const char* json : {"", " --json"}) {
    Process process(
        {.command = ShellLine("run --handler print --consume-without-effects -c " + file + json)});
    ASSERT_TRUE(Eventually(20s, [&] { return std::filesystem::exists(Socket()); }));
    ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
    EXPECT_EQ(process.Wait(30s), 5);
    const bool as_json = *json != '\0';
    EXPECT_EQ(ReadAll(out_).empty(), !as_json);
    EXPECT_EQ(nlohmann::json::accept(ReadAll(out_)), as_json);
    EXPECT_EQ(ReadAll(err_).find("\nverdict: NONE") != std::string::npos, !as_json);
  }
}

TEST_F(QueriedService, AKilledServiceIsSaidToBeDeadAndTheNextOneTakesItsPlace) {
  const std::string file = ServiceFile();
  const auto run = ShellLine("run --handler count --consume-without-effects -c " + file);
  {
    Process killed({.command = run});
    ASSERT_TRUE(Eventually(20s, [&] { return std::filesystem::exists(Socket()); }));
    killed.Kill9();
  }
  const Ended dead = Run("status " + file, "asked");
  EXPECT_EQ(dead.code, 6);
  EXPECT_THAT(dead.err, HasSubstr("the service that made this socket has died"));
  Process next({.command = run});
  EXPECT_TRUE(Eventually(20s, [&] { return Run("status " + file, "asked").code == 0; }));
  ASSERT_EQ(kill(next.pid(), SIGTERM), 0);
  EXPECT_EQ(next.Wait(30s), 5);
}

}  // namespace
}  // namespace oncemq
