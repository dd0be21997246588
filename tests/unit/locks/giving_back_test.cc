// SPDX-License-Identifier: Apache-2.0
#include "giving_back.h"

#include <gtest/gtest.h>

#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

class GivingBack : public ::testing::Test {
 protected:
  static std::shared_ptr<Owed> To(const std::string& name) {
    return std::make_shared<Owed>(Owed{name, {1, 1}, BootTime::max()});
  }
  void Hold(const std::string& name) {
    ASSERT_TRUE(locks_.Request({.name = name, .token = {1, 1}, .lease = kLease}).has_value());
  }
  size_t Held() { return locks_.Names("", 1'000)->size(); }

  static constexpr milliseconds kLease{3'600'000};
  ShakyLocks locks_;
  ManualClock clock_;
};

TEST_F(GivingBack, ManyTakeAsManyCallsAsThereAreHundreds) {
  OwedQueue owed;
  for (int i = 0; i < 250; i++) {
    Hold(std::to_string(i));
    owed.Push(To(std::to_string(i)));
  }
  const GivenBack done = GiveBackAll(locks_, std::move(owed), clock_, BootTime::max());
  EXPECT_TRUE(done.left.empty() && !done.why);
  EXPECT_EQ(Held(), 0u);
  EXPECT_EQ(locks_.frees, 3);
}

TEST_F(GivingBack, AnOutageEndsItAfterTheFirstCall) {
  OwedQueue owed;
  for (int i = 0; i < 250; i++) {
    owed.Push(To(std::to_string(i)));
  }
  locks_.on_free = ShakyLocks::Fault::kRefused;
  const GivenBack done = GiveBackAll(locks_, std::move(owed), clock_, BootTime::max());
  EXPECT_TRUE(done.outage && done.why);
  EXPECT_EQ(done.left.size(), 250u);
  EXPECT_EQ(locks_.frees, 1);
}

TEST_F(GivingBack, WhoIsNotThroughInTimeIsLeft) {
  OwedQueue owed;
  owed.Push(To("x"));
  const GivenBack done = GiveBackAll(locks_, std::move(owed), clock_, clock_.Boot());
  EXPECT_EQ(done.left.size(), 1u);
  EXPECT_EQ(locks_.frees, 0);
}

TEST_F(GivingBack, ANameThatCanNeverBeFreedIsLeftToItsLeaseAndKeepsNoOther) {
  for (const Code code : {Code::kInvalid, Code::kCorrupt}) {
    Hold("good");
    locks_.Spoil("bad", code);
    const GivenBack done = GiveBackTogether(locks_, {To("bad"), To("good")});
    EXPECT_TRUE(done.left.empty());
    EXPECT_EQ(done.why->code, code);
    EXPECT_FALSE(done.outage);
    EXPECT_EQ(Held(), 0u);
  }
}

TEST_F(GivingBack, WhatMayBeFreedLaterIsStillOwed) {
  for (const Code code : {Code::kFull, Code::kInternal}) {
    Hold("good");
    locks_.Spoil("full", code);
    const GivenBack done = GiveBackTogether(locks_, {To("full"), To("good")});
    ASSERT_EQ(done.left.size(), 1u) << ToString(code);
    EXPECT_EQ(done.left[0]->name, "full");
    EXPECT_FALSE(done.outage);
    EXPECT_EQ(Held(), 0u);
  }
}

TEST_F(GivingBack, AnOutageAmongThoseWhoAreToldAloneEndsIt) {
  Hold("a");
  Hold("d");
  locks_.Spoil("b");
  const OwedQueue::Batch batch = {To("a"), To("b"), To("c"), To("d")};
  // The batch, then each alone: the store is gone when it is asked for the third time.
  locks_.before_free = [this] {
    if (locks_.frees == 3) {
      locks_.Spoil("b", Code::kUnavailable);
    }
  };
  const GivenBack done = GiveBackTogether(locks_, batch);
  EXPECT_TRUE(done.outage);
  EXPECT_EQ(done.left.size(), 3u);
  EXPECT_EQ(locks_.frees, 3);
  EXPECT_EQ(Held(), 1u);
}

}  // namespace
}  // namespace oncemq::testing
