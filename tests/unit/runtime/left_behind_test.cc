// SPDX-License-Identifier: Apache-2.0
// A message that waits while others go is copied out of the source's memory, and handlers see no
// difference.
#include <gmock/gmock.h>

#include <latch>
#include <set>

#include "oncemq/base/mutex.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class LeftBehindTest : public PollLoopTest {
 protected:
  static RuntimeOptions CopyingOptions(uint32_t workers) {
    RuntimeOptions options = Options();
    options.workers = workers;
    options.core.waiting.left_behind_bytes = 1'000;  // ten messages of the script
    return options;
  }
  // Other keys come and go until `condition` holds.
  bool GoesOnUntil(RunningLoop& loop, const std::function<bool()>& condition) {
    return Holds([&] {
      const std::string number = std::to_string(others_++);
      loop.script().Append(0, "other-" + number, "key-" + number);
      return condition();
    });
  }
  // Notes a handler's view of a message that is told apart by its key.
  void Note(const Message& message, const Context& context) {
    MutexLock lock(mutex_);
    seen_.insert(std::string(*message.value()) + " as " + std::string(context.id()) + " of " +
                 std::string(*message.key()));
  }
  std::set<std::string> seen() {
    MutexLock lock(mutex_);
    return seen_;
  }

  int64_t others_ = 0;
  Mutex mutex_;
  std::set<std::string> seen_ GUARDED_BY(mutex_);
};

TEST_F(LeftBehindTest, AMessageThatIsRetriedIsCopiedAndItsHandlerSeesTheSame) {
  std::atomic<bool> free = false;
  RunningLoop loop(CopyingOptions(0), &window_,
                   [&](const Message& message, Context& context) -> Outcome {
                     if (message.key() != "waits") {
                       return Done{};
                     }
                     Note(message, context);
                     return free ? Outcome(Done{}) : Outcome(Retry{.after = milliseconds(20)});
                   });
  loop.script().Append(0, "w", "waits");
  loop.script().Append(0, "v", "waits");
  loop.script().Assign(0);
  EXPECT_TRUE(GoesOnUntil(loop, [&] { return loop.script().seen().detached.size() == 2; }));
  EXPECT_THAT(loop.script().seen().detached, UnorderedElementsAre("w", "v"));
  free = true;
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == others_ + 2; }));
  EXPECT_THAT(seen(), ElementsAre("v as v of waits", "w as w of waits"));
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_EQ(loop.script().seen().held, 0u);
}

TEST_F(LeftBehindTest, WhatAHandlerHasInHandIsNotCopiedUnderIt) {
  std::latch free(1);
  std::atomic<bool> inside = false;
  RunningLoop loop(CopyingOptions(2), &window_,
                   [&](const Message& message, Context& context) -> Outcome {
                     if (message.key() == "hangs") {
                       inside = true;
                       free.wait();
                       Note(message, context);
                     }
                     return Done{};
                   });
  loop.script().Append(0, "h", "hangs");
  loop.script().Append(0, "f", "hangs");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return inside.load(); }));
  EXPECT_TRUE(GoesOnUntil(loop, [&] { return !loop.script().seen().detached.empty(); }));
  const int64_t then = others_;
  EXPECT_TRUE(GoesOnUntil(loop, [&] { return others_ > then + 50; }));
  EXPECT_THAT(loop.script().seen().detached, ElementsAre("f")) << "the follower alone";
  free.count_down();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == others_ + 2; }));
  EXPECT_THAT(seen(), ElementsAre("f as f of hangs", "h as h of hangs"));
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_EQ(loop.script().seen().held, 0u);
}

TEST_F(LeftBehindTest, WhereAllGoesOnNothingIsCopied) {
  RunningLoop loop(CopyingOptions(0), &window_, Count());
  loop.script().Assign(0);
  EXPECT_TRUE(GoesOnUntil(loop, [&] { return others_ == 200; }));
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == others_; }));
  EXPECT_THAT(loop.script().seen().detached, IsEmpty());
}

// They are released as any other message when their partition goes.
TEST_F(LeftBehindTest, CopiesGoBackWithTheirPartition) {
  RunningLoop loop(CopyingOptions(0), &window_, [&](const Message& message, Context&) -> Outcome {
    return message.key() == "waits" ? Outcome(Retry{.after = milliseconds(60'000)})
                                    : Outcome(Done{});
  });
  loop.script().Append(0, "w", "waits");
  loop.script().Assign(0);
  EXPECT_TRUE(GoesOnUntil(loop, [&] { return !loop.script().seen().detached.empty(); }));
  loop.script().Revoke(0);
  EXPECT_TRUE(Holds([&] { return !loop.script().seen().given_back.empty(); }));
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_EQ(loop.script().seen().held, 0u);
}

}  // namespace
}  // namespace oncemq::testing
