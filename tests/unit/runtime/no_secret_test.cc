// SPDX-License-Identifier: Apache-2.0
// I14: whatever happens, no payload or key is in the log, and an id only where its handler failed.
// A run that makes the runtime log as much as it can, over the real logger at its lowest level.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "oncemq/base/log.h"
#include "oncemq/dedup/memory_window.h"
#include "running_loop.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPayload = "canary-of-payload";
constexpr const char* kKey = "canary-of-key";
constexpr const char* kId = "id-of-message";

bool Holds(const std::function<bool()>& condition) {
  return Eventually(std::chrono::seconds(20), condition);
}

std::string TextOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(NoSecret, OfAMessageIsEverLogged) {
  const TempDir dir;
  StartLogging({.level = LogLevel::kDebug, .file = dir.path() / "log"});
  RuntimeOptions options;
  options.core.commit_interval = milliseconds(5);
  options.core.store_retry = milliseconds(5);
  options.core.session_margin = milliseconds(50);
  options.drain_deadline = milliseconds(50);
  options.poll_budget = milliseconds(5);
  options.catch_up = 1000;
  const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  std::atomic<int> calls{0};
  const auto handler = [&calls](const Message& message, Context&) -> Outcome {
    const int call = ++calls;
    if (call == 1) {
      throw std::runtime_error("no payment");
    }
    if (call == 2) {
      throw 42;
    }
    if (message.offset() == 1) {
      SleepFor(milliseconds(30));  // keeps the poll thread: another one takes over
    }
    return message.offset() == 2 ? Outcome(Reject{"not a payment"}) : Outcome(Done{});
  };
  {
    RunningLoop loop(options, window.get(), handler);
    for (int i = 0; i < 4; i++) {
      loop.script().Append(0, kId + std::to_string(i), kKey + std::to_string(i),
                           kPayload + std::to_string(i));
    }
    loop.script().Append(1, kId, kKey, kPayload);
    loop.script().Assign(1);
    // What has sent no commit yet is given back, and nobody has to leave for it.
    EXPECT_TRUE(Holds([&] { return !loop.script().seen().commits.empty(); }));
    loop.script().Assign(0);
    EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
    loop.script().Lose(0);
    loop.script().AnswerCommits(CommitReply::kUnknown);
    loop.script().Revoke(1);
    EXPECT_TRUE(Holds([&] { return loop.script().seen().rejoined == 1; }));
    loop.script().Emit([](SourceEvents& events) { events.Failed("the client is broken"); });
    loop.AwaitEnd();
  }
  StopLogging();
  const std::string log = TextOf(dir.path() / "log");
  for (const char* said :
       {"the handler threw", "is stopped", "was lost", "not known; leaving", "has failed"}) {
    EXPECT_THAT(log, HasSubstr(said)) << "or this test proves little";
  }
  EXPECT_THAT(log, Not(HasSubstr("canary")));
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.find(kId) == line.npos || line.find("the handler threw") != line.npos) << line;
  }
}

}  // namespace
}  // namespace oncemq::testing
