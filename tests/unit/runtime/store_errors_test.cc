// SPDX-License-Identifier: Apache-2.0
// A store that fails must not look like an idle service.
#include "store_errors.h"
#include "journal.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "poll_loop_fixture.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StoreErrorsTest : public PollLoopTest {
 protected:
  // A call of the window with this answer.
  static Status Call(StoreErrors& errors, StoreCall call, const Status& answer) {
    return errors.Window(call, 3, [&] { return answer; });
  }

  TempDir dir_;
  LogFile log_;
};

TEST_F(StoreErrorsTest, AFailedCallIsLoggedWithItsReasonAndCounted) {
  StoreErrors errors;
  EXPECT_TRUE(Call(errors, StoreCall::kClaim, Status()));
  EXPECT_TRUE(errors.Journal(3, Status()));
  EXPECT_EQ(errors.window() + errors.journal(), 0);
  EXPECT_FALSE(Call(errors, StoreCall::kClaim, Error{Code::kFull, Effect::kNone, "no room"}));
  EXPECT_FALSE(errors.Journal(2, Error{Code::kUnavailable, Effect::kUnknown, "disk full"}));
  EXPECT_EQ(errors.window(), 1);
  EXPECT_EQ(errors.journal(), 1);
  const std::string log = log_.End();
  EXPECT_THAT(log, HasSubstr("no room"));
  EXPECT_THAT(log, HasSubstr("claim"));
  EXPECT_THAT(log, HasSubstr("disk full"));
}

TEST_F(StoreErrorsTest, EachCallHasItsTimeAndTheLastOneTellsWhetherTheStoreIsUp) {
  StoreErrors errors;
  const auto measures = [&] {
    RunMeasures now;
    errors.Report(now);
    return now;
  };
  const auto calls = [&](StoreCall call) {
    const LatencySnapshot times = measures().store[static_cast<size_t>(call)];
    return std::accumulate(times.counts.begin(), times.counts.end(), uint64_t{0});
  };
  EXPECT_FALSE(errors.window_fails());
  EXPECT_TRUE(Call(errors, StoreCall::kClaim, Status()));
  EXPECT_FALSE(Call(errors, StoreCall::kClaim, Error{Code::kFull, Effect::kNone, "no room"}));
  EXPECT_TRUE(errors.window_fails());
  EXPECT_TRUE(Call(errors, StoreCall::kComplete, Status()));
  EXPECT_FALSE(errors.window_fails());
  EXPECT_EQ(calls(StoreCall::kClaim), 2U);
  EXPECT_EQ(calls(StoreCall::kComplete), 1U);
  errors.Window(StoreCall::kPark, 1, microseconds(3'000), Status());
  EXPECT_EQ(measures().store[static_cast<size_t>(StoreCall::kPark)].sum, microseconds(3'000));
  errors.Fenced(FencePlace::kRenew, 3);
  EXPECT_EQ(measures().fence_refusals[static_cast<size_t>(FencePlace::kRenew)], 3);
}

TEST_F(StoreErrorsTest, ARunMeasuresItsHandlerItsWindowItsCommitsAndItsRetries) {
  int calls = 0;
  RunningLoop loop(Options(), &window_, [&](const Message&, Context&) -> Outcome {
    return calls++ == 0 ? Outcome(Retry{.after = milliseconds(5)}) : Outcome(Done{});
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  const auto sum = [](const LatencySnapshot& times) {
    return std::accumulate(times.counts.begin(), times.counts.end(), uint64_t{0});
  };
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  const RunMeasures measures = loop.Stop().measures;
  EXPECT_EQ(sum(measures.handler), 2U);
  EXPECT_EQ(sum(measures.retry_lateness), 1U);
  EXPECT_GE(sum(measures.commit), 2U) << "the one that confirms, and that of the message";
  EXPECT_EQ(sum(measures.store[static_cast<size_t>(StoreCall::kComplete)]), 1U);
  EXPECT_GE(sum(measures.store[static_cast<size_t>(StoreCall::kRaiseOwnerEpoch)]), 1U);
}

TEST_F(StoreErrorsTest, FailuresOfOneKindShareALineAndAnotherKindHasItsOwn) {
  StoreErrors errors;
  for (int i = 0; i < 100; i++) {
    const Code code = i % 2 == 0 ? Code::kUnavailable : Code::kTimeout;
    EXPECT_FALSE(Call(errors, StoreCall::kClaim, Error{code, Effect::kNone, "no answer"}));
    EXPECT_TRUE(Call(errors, StoreCall::kRenew, Status())) << "may have asked nobody";
  }
  EXPECT_FALSE(Call(errors, StoreCall::kClaim, Error{Code::kCorrupt, Effect::kNone, "damaged"}));
  EXPECT_FALSE(
      Call(errors, StoreCall::kClaim, Error{Code::kRefused, Effect::kNone, "wrong password"}));
  EXPECT_TRUE(Call(errors, StoreCall::kClaim, Status()));
  EXPECT_EQ(errors.window(), 102);
  const std::string log = log_.End();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_THAT(log, HasSubstr("damaged"));
  EXPECT_THAT(log, HasSubstr("wrong password"));
}

TEST_F(StoreErrorsTest, AWindowThatIsDownShowsInTheLogAndInTheReport) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return calls_ == 1; }));
  EXPECT_EQ(loop.Now().window_errors, 0);
  EXPECT_FALSE(loop.Now().state.window_fails);
  window_.down = true;
  loop.script().Append(0, "b", "k");
  EXPECT_TRUE(Holds([&] { return loop.Now().window_errors >= 2; })) << "it is asked again";
  EXPECT_TRUE(loop.Now().state.window_fails);
  window_.down = false;
  EXPECT_TRUE(Holds([&] { return calls_ == 2; }));
  EXPECT_TRUE(Holds([&] { return !loop.Now().state.window_fails; }));
  EXPECT_FALSE(loop.Now().state.stopping);
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_TRUE(loop.Stop().state.stopping);
  EXPECT_GE(loop.Stop().window_errors, 2);
  EXPECT_THAT(log_.End(), HasSubstr("a call of the window failed"));
}

TEST_F(StoreErrorsTest, AnOwnershipThatCannotBeRaisedIsCounted) {
  window_.down = true;
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().window_errors >= 1; }));
  window_.down = false;
}

// No file of this process grows beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : old_handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  const sighandler_t old_handler_;
  rlimit old_{};
};

TEST_F(StoreErrorsTest, AJournalThatCannotGrowShowsInTheLogAndInTheReportAndGoesOn) {
  const std::string path = dir_.path() / "refused";
  auto journal = Journal::Open(path, {"topic"});
  ASSERT_TRUE(journal);
  const std::string why(1000, 'x');
  const BatchItem item;
  const std::vector<JournalEntry> many(500, JournalEntry{&item, why});
  ASSERT_TRUE((*journal)->Append(many)) << "beyond what the log of this test takes";
  RuntimeOptions options = Options();
  options.policy.reject = RejectPolicy::kJournal;
  RunningLoop loop(
      options, &window_, [](const Message&, Context&) -> Outcome { return Reject{"never"}; },
      journal->get());
  {
    const FileSizeLimit limit(std::filesystem::file_size(path) + 10);
    loop.script().Append(0, "a", "k");
    loop.script().Assign(0);
    EXPECT_TRUE(Holds([&] { return loop.Now().journal_errors >= 2; })) << "it is tried again";
    EXPECT_EQ(loop.Now().counts.rejected, 0);
  }
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.rejected == 1; }));
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_EQ((*journal)->Append(many).value_or(0), 502U);
  journal->reset();
  EXPECT_TRUE(Journal::Open(path, {})) << "no half line was left in it";
  const std::string log = log_.End();
  EXPECT_THAT(log, HasSubstr("put on record"));
  EXPECT_THAT(log, HasSubstr("File too large"));
  EXPECT_THAT(log, Not(HasSubstr("a call of the window failed")));
}

}  // namespace
}  // namespace oncemq::testing
