// SPDX-License-Identifier: Apache-2.0
// A service in one call, as far as it goes without a broker.
#include "oncemq/framework/run_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "admin_listener.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/locks/memory_locks.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using ::testing::AllOf;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

constexpr char kYaml[] =
    "kafka: {brokers: \"127.0.0.1:1\", group: payments}\n"
    "topics: payments\n"
    "window: {engine: memory, level: guarded, ids: partition_owned, id: {header: message-id}}\n";
constexpr unsigned kPatienceSeconds = 20;  // then SIGALRM ends a child that is deaf

class RunServiceTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& more = "") const {
    const std::filesystem::path file = dir_.path() / "service.yaml";
    std::ofstream(file) << kYaml << more;
    return file;
  }

  static int Run(std::vector<std::string> words, const RunServiceOptions& options = {}) {
    words.insert(words.begin(), "/usr/bin/payments");
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    const Handler handler = [](const Message&, Context&) -> Outcome { return Done{}; };
    return RunService(static_cast<int>(argv.size()), argv.data(), handler, options);
  }

  struct Ended {
    int code = -1;
    std::string err;
  };
  static Ended Refusal(std::vector<std::string> words, const RunServiceOptions& options = {}) {
    CaptureStderr();
    const int code = Run(std::move(words), options);
    return {code, GetCapturedStderr()};
  }

  const testing::TempDir dir_;
};

TEST_F(RunServiceTest, ArgumentsThatNameNoFileAreRefusedWithTheUsage) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "which service file? Say -c FILE"},
      {{"-c"}, "-c wants a service file"},
      {{"--config"}, "--config wants a service file"},
      {{"--config="}, "one service file is needed"},
      {{"-c", "a", "-c", "b"}, "one service file is needed"},
      {{"-c", "a", "--workers"}, "unknown argument `--workers`"},
      {{"a.yaml"}, "unknown argument `a.yaml`"}};
  for (const auto& [words, why] : wrong) {
    const Ended ended = Refusal(words);
    EXPECT_EQ(ended.code, 2) << why;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(why), HasSubstr("\nusage: payments -c FILE\n")));
  }
}

TEST_F(RunServiceTest, HelpIsAResult) {
  CaptureStdout();
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(GetCapturedStdout(), StartsWith("usage: payments -c FILE\n"));
}

TEST_F(RunServiceTest, AFileThatIsNotThereOrNotMeantIsRefusedWithItsPlace) {
  const Ended missing = Refusal({"-c", "/no/such/file.yaml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "/no/such/file.yaml: No such file or directory\n");
  const std::string file = Write("window_: 5\n");
  const Ended wrong = Refusal({"--config=" + file});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr(file + ":4:1: unknown key `window_`"));
}

TEST_F(RunServiceTest, AFileThatNamesAStoreOfLocksIsRefusedByAProgramThatOpensNone) {
  const Ended ended = Refusal({"-c", Write("locks: {at: \"memory:\"}\n")});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("link oncemq::service_locks"));
}

TEST_F(RunServiceTest, TheOpenerOfLocksGetsTheOptionsOfTheFile) {
  const LockOpener open = [](const ServiceOptions& options) -> Result<std::unique_ptr<LockDomain>> {
    return Error{Code::kCorrupt, Effect::kNone, "nobody is at " + options.locks.at};
  };
  const Ended ended = Refusal({"-c", Write("locks: {at: \"memory:\"}\n")}, {.open_locks = open});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("nobody is at memory:"));
}

// An opening raises `remember` in the scope, for all its members.
TEST_F(RunServiceTest, ATakenSocketIsToldBeforeTheWindowIsOpened) {
  const std::string path = dir_.path() / "admin.sock";
  const auto other = AdminListener::Open(path);
  ASSERT_TRUE(other) << ToString(other.error());
  static bool opened = false;
  const WindowOpener open = [](const ServiceOptions&) -> Result<std::unique_ptr<Window>> {
    opened = true;
    return Error{Code::kInternal, Effect::kNone, "it was opened"};
  };
  const std::string file = Write("admin: {socket: '" + path + "'}\n");
  const Ended ended = Refusal({"-c", file}, {.open_window = open});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(path + " is taken: another process answers there"));
  EXPECT_FALSE(opened);
}

#ifdef ONCEMQ_WITH_POSTGRES
constexpr char kShared[] =
    "kafka: {brokers: \"127.0.0.1:1\", group: payments}\n"
    "topics: payments\n"
    "window: {engine: postgres, at: \"postgres://u:hunter2@127.0.0.1:1/d\", level: guarded,\n"
    "         ids: crossing, id: {header: message-id}}\n";

TEST_F(RunServiceTest, AFileWithAWindowInPostgresIsRefusedByAProgramThatOpensNone) {
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << kShared;
  const Ended ended = Refusal({"-c", file});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err,
              HasSubstr("`window.engine` is `postgres`, and this program opens no window there: "
                        "link oncemq::service_postgres"));
}

TEST_F(RunServiceTest, TheOpenerOfWindowsGetsTheOptionsOfTheFile) {
  const WindowOpener open = [](const ServiceOptions& options) -> Result<std::unique_ptr<Window>> {
    return Error{Code::kInternal, Effect::kNone, "nobody keeps " + options.postgres.scope};
  };
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << kShared;
  const Ended ended = Refusal({"-c", file}, {.open_window = open});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("nobody keeps default/default/payments/default"));
}

TEST_F(RunServiceTest, AWindowWhoseStoreDoesNotAnswerIsAskedForAgain) {
  static int asked;
  asked = 0;
  const WindowOpener open = [](const ServiceOptions&) -> Result<std::unique_ptr<Window>> {
    return ++asked < 3 ? Error{Code::kUnavailable, Effect::kNone, "no answer"}
                       : Error{Code::kInvalid, Effect::kNone, "wrong password"};
  };
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << kShared;
  const Ended ended = Refusal({"-c", file}, {.open_window = open});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(asked, 3);
  EXPECT_THAT(ended.err, HasSubstr("wrong password"));
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("{") && line.ends_with("}")) << "one format per stream: " << line;
  }
}

TEST_F(RunServiceTest, AWindowWhoseServerRefusesTheLoginIsWaitedFor) {
  static int asked;
  asked = 0;
  const WindowOpener open = [](const ServiceOptions&) -> Result<std::unique_ptr<Window>> {
    return ++asked < 3 ? Error{Code::kRefused, Effect::kNone, "wrong password"}
                       : Error{Code::kInvalid, Effect::kNone, "no tables"};
  };
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << kShared;
  const Ended ended = Refusal({"-c", file}, {.open_window = open});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(asked, 3) << "a new password may be on its way";
  EXPECT_THAT(ended.err, HasSubstr("the store of the window refuses the login"));
}
#endif

#ifdef ONCEMQ_WITH_REDIS
TEST_F(RunServiceTest, AFileWithAWindowInRedisIsRefusedByAProgramThatOpensNone) {
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << "kafka: {brokers: \"127.0.0.1:1\", group: payments}\n"
                         "topics: payments\n"
                         "window: {engine: redis, at: \"redis://u:hunter2@127.0.0.1:1\",\n"
                         "         level: guarded, ids: crossing, id: {header: message-id}}\n";
  const Ended ended = Refusal({"-c", file});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("`window.engine` is `redis`, and this program opens no window "
                                   "there: link oncemq::service_redis, and give RunService "
                                   "OpenRedisServiceWindow"));
}
#endif

// Each in a child: the signals concern the whole process. The opener is called when they are taken,
// and before anything waits for the broker.
class RunServiceDeathTest : public RunServiceTest {
 protected:
  template <int kSignal>
  static Result<std::unique_ptr<LockDomain>> SendThenOpen(const ServiceOptions&) {
    kill(getpid(), kSignal);
    return LockDomain::Open(MakeMemoryLocks());
  }
  static Result<std::unique_ptr<Window>> EndThenRefuse(const ServiceOptions&) {
    kill(getpid(), SIGTERM);
    return Error{Code::kTimeout, Effect::kNone, "no answer within 2 s"};
  }
  [[noreturn]] static void RunAndExit(const std::string& file, const RunServiceOptions& options) {
    alarm(kPatienceSeconds);
    _exit(Run({"-c", file}, options));
  }
};

TEST_F(RunServiceDeathTest, ASignalEndsItInOrderWithTheClosingReport) {
  const std::string file = Write("locks: {at: \"memory:\"}\n");
  const char* const report = "no broker was reached|no partition was ever assigned";
  EXPECT_EXIT(RunAndExit(file, {.open_locks = SendThenOpen<SIGTERM>}), ExitedWithCode(5), report);
  EXPECT_EXIT(RunAndExit(file, {.open_locks = SendThenOpen<SIGINT>}), ExitedWithCode(5), report);
}

#ifdef ONCEMQ_WITH_POSTGRES
TEST_F(RunServiceDeathTest, ASignalEndsTheWaitForTheServerOfTheWindow) {
  const std::string file = dir_.path() / "shared.yaml";
  std::ofstream(file) << kShared;
  EXPECT_EXIT(RunAndExit(file, {.open_window = EndThenRefuse}), ExitedWithCode(5),
              "no answer within 2 s");
}
#endif

}  // namespace
}  // namespace oncemq
