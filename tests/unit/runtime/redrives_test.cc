// SPDX-License-Identifier: Apache-2.0
// The poll loop with a park topic: known before anything is read, and messages that come back.
#include "redrives.h"

#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "outcome_log.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const Error kNotRead{Code::kUnavailable, Effect::kNone, "its park topic is being read"};

// Keeps the offset and kind of each entry.
class ListedOutcomes final : public OutcomeLog {
 public:
  using Entry = std::pair<int64_t, RecordKind>;

  void Name(uint32_t, const std::string&) override {}
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView&) override {
    MutexLock lock(mutex_);
    for (const JournalEntry& entry : entries) {
      entries_.emplace_back(entry.item->at.offset, entry.kind);
    }
    return uint64_t{0};
  }
  std::vector<Entry> entries() const {
    MutexLock lock(mutex_);
    return entries_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

class RedrivesTest : public PollLoopTest {
 protected:
  static RuntimeOptions Parking() {
    RuntimeOptions options = Options();
    options.policy.reject = RejectPolicy::kPark;
    options.core.refusals.parks = true;
    return options;
  }
  static ParkedMessages One(const std::string& key) { return {.keys = {{ProcessHash(key), 1}}}; }
  Handler Note() {
    return [this](const Message& message, Context&) -> Outcome {
      MutexLock lock(mutex_);
      handled_.push_back(message.offset());
      return Done{};
    };
  }
  std::vector<int64_t> handled() const {
    MutexLock lock(mutex_);
    return handled_;
  }
  // Asked once more, and again: so a round has come after what was said before.
  static bool AskedAgain(Script& script) {
    const int before = script.seen().asked_parked;
    return Holds([&] { return script.seen().asked_parked >= before + 2; });
  }

  ListedOutcomes outcomes_;
  mutable Mutex mutex_;
  std::vector<int64_t> handled_ GUARDED_BY(mutex_);
};

TEST_F(RedrivesTest, NothingIsReadBeforeTheParkedKeysAreKnown) {
  RunningLoop loop(Parking(), &window_, Note(), &outcomes_);
  Script& script = loop.script();
  script.AnswerParked(kNotRead);
  script.Append(0, "a", "k");
  script.Append(0, "b", "other");
  script.Redrive(0, "c", "k", -1);
  script.Assign(0);
  ASSERT_TRUE(AskedAgain(script));
  EXPECT_EQ(script.seen().held, 0u);
  EXPECT_THAT(handled(), IsEmpty());
  EXPECT_THAT(loop.Now().partitions.front().waiting, HasSubstr(kNotRead.message));
  script.AnswerParked(One("k"));
  EXPECT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 2; }));
  EXPECT_EQ(loop.Now().partitions.front().waiting, "");
  const RunReport& report = loop.Stop();
  EXPECT_TRUE(report.clean);
}

TEST_F(RedrivesTest, TheLaterMessagesOfAParkedKeyAreRecordedAndNotRun) {
  RunningLoop loop(Parking(), &window_, Note(), &outcomes_);
  Script& script = loop.script();
  script.AnswerParked(One("k"));
  script.Append(0, "a", "k");
  script.Append(0, "b", "other");
  script.Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 2; }));
  EXPECT_THAT(handled(), ElementsAre(1));
  EXPECT_THAT(outcomes_.entries(), ElementsAre(Pair(0, RecordKind::kFollows)));
}

TEST_F(RedrivesTest, TheNextAssignmentAsksAnew) {
  RunningLoop loop(Parking(), &window_, Note(), &outcomes_);
  Script& script = loop.script();
  script.Append(0, "a", "k");
  script.Assign(0);
  ASSERT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 1; }));
  script.AnswerParked(kNotRead);
  script.Lose(0);
  script.Append(0, "b", "k");
  script.Assign(0, 1);
  ASSERT_TRUE(AskedAgain(script));
  EXPECT_THAT(handled(), ElementsAre(0));
  script.AnswerParked(One("k"));
  EXPECT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 2; }));
  EXPECT_THAT(handled(), ElementsAre(0)) << "a former owner has parked the key";
}

TEST_F(RedrivesTest, ARedrivenMessageReachesTheHandlerAndTheNextOneOfItsKeyRuns) {
  RunningLoop loop(Parking(), &window_, Note(), &outcomes_);
  Script& script = loop.script();
  script.AnswerParked(One("k"));
  script.Append(0, "a", "k");
  script.Append(0, "b", "other");
  script.Assign(0, 1);
  ASSERT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 2; }));
  script.Redrive(0, "a", "k", 0);
  ASSERT_TRUE(Holds([&] { return outcomes_.entries().size() == 1; }));
  script.Append(0, "c", "k");
  ASSERT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 3; }));
  EXPECT_THAT(handled(), ElementsAre(1, 0, 2));
  EXPECT_THAT(outcomes_.entries(), ElementsAre(Pair(0, RecordKind::kEnded)));
  loop.Stop();
  EXPECT_EQ(script.seen().held, 0u);
}

TEST_F(RedrivesTest, ARedrivenMessageWaitsForItsOwnDelivery) {
  std::atomic<bool> parks = false;
  RunningLoop loop(
      Parking(), &window_,
      [&](const Message& message, Context&) -> Outcome {
        MutexLock lock(mutex_);
        handled_.push_back(message.offset());
        if (handled_.size() > 1) {
          return Done{};
        }
        return parks ? Outcome(Reject{"no"}) : (handled_.clear(), Retry{.after = milliseconds(5)});
      },
      &outcomes_);
  Script& script = loop.script();
  script.Append(0, "a", "k");
  script.Assign(0);
  script.Redrive(0, "a", "k", 0);
  ASSERT_TRUE(Holds([&] { return loop.Now().counts.handler_calls > 3; }));
  EXPECT_EQ(loop.Now().counts.deliveries, 1);
  parks = true;
  EXPECT_TRUE(Holds([&] { return outcomes_.entries().size() == 2; }));
  EXPECT_THAT(outcomes_.entries(),
              ElementsAre(Pair(0, RecordKind::kRefused), Pair(0, RecordKind::kEnded)));
}

// A redrive of it would be suppressed for ever (rule 4).
TEST_F(RedrivesTest, ACatchUpTakesNothingThatIsParkedForDone) {
  RuntimeOptions options = Parking();
  options.catch_up = 1'000;
  RunningLoop loop(options, &window_, Note(), &outcomes_);
  Script& script = loop.script();
  script.AnswerParked(kNotRead);
  script.Append(0, "a", "k");
  script.Append(0, "b", "other");
  script.Append(0, "a", "other");
  script.Append(0, "c", "other");
  script.Assign(0, /*start=*/4, /*read_from=*/0);
  ASSERT_TRUE(AskedAgain(script));
  EXPECT_EQ(loop.Now().caught_up, 0) << "the topic is read first";
  script.AnswerParked(
      ParkedMessages{.keys = {{ProcessHash("k"), 1}}, .offsets = {0, /*a copy*/ 2}});
  EXPECT_TRUE(Holds([&] { return loop.Now().caught_up == 2; }));
  EXPECT_EQ(script.seen().parked_from, 0);
  script.Redrive(0, "a", "k", 0);
  script.Append(0, "b", "other");
  EXPECT_TRUE(Holds([&] { return outcomes_.entries().size() == 1; }));
  EXPECT_TRUE(Holds([&] { return Committed(script.seen(), 0) == 5; }));
  EXPECT_THAT(handled(), ElementsAre(0));
  EXPECT_EQ(loop.Stop().counts.suppressed, 1);
}

TEST_F(RedrivesTest, NothingIsRedrivenBeforeTheWindowKnowsWhatWasDone) {
  RuntimeOptions options = Parking();
  options.catch_up = 1'000;
  RunningLoop loop(options, &window_, Note(), &outcomes_);
  Script& script = loop.script();
  window_.restore_down = true;
  script.AnswerParked(One("k"));
  script.Append(0, "a", "k");
  script.Append(0, "b", "other");
  script.Redrive(0, "a", "k", 0);  // its former owner died between its end and the record
  script.Assign(0, /*start=*/2, /*read_from=*/0);
  EXPECT_TRUE(Holds([&] { return loop.Now().window_errors >= 2; }));
  EXPECT_EQ(loop.Now().counts.deliveries, 0);
  window_.restore_down = false;
  EXPECT_TRUE(Holds([&] { return outcomes_.entries().size() == 1; }));
  EXPECT_THAT(outcomes_.entries(), ElementsAre(Pair(0, RecordKind::kEnded)));
  EXPECT_THAT(handled(), IsEmpty());
  EXPECT_TRUE(loop.Stop().clean);
}

}  // namespace
}  // namespace oncemq::testing
