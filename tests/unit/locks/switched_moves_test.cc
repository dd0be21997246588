// SPDX-License-Identifier: Apache-2.0
// Holds on their way to the target of a planned switch, which cannot get at one of its names or
// does not say that it has extended.
#include <algorithm>
#include <utility>

#include "support/forwarding_locks.h"
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

// Calls with one name in them fail, once their time is over.
class OneBadName final : public ForwardingLocks {
 public:
  using ForwardingLocks::ForwardingLocks;

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    requests++;
    std::exchange(meanwhile, [] {})();
    const Status fit = Reached(request.name);
    return fit ? ForwardingLocks::Request(request) : Result<LockAnswer>(fit.error());
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (const LockClaim& claim : claims) {
      if (const Status fit = fails_extends ? Reached(claim.name) : Status(); !fit) {
        return fit;
      }
    }
    const Status done = ForwardingLocks::Extend(claims, answers);
    std::replace(answers.begin(), answers.end(), Extended::kYes, instead_of_yes);
    return done;
  }

  std::string bad;
  Code code = Code::kTimeout;
  bool fails_extends = false;
  std::function<void()> takes_its_time = [] {};
  int requests = 0;
  std::function<void()> meanwhile = [] {};  // once, within the next ask
  Extended instead_of_yes = Extended::kYes;

 private:
  Status Reached(std::string_view name) const {
    if (name != bad) {
      return {};
    }
    takes_its_time();
    return Error{code, Effect::kUnknown, "cannot get at " + bad};
  }
};

class SwitchedMovesTest : public SwitchedLocksTest {
 protected:
  SwitchedMovesTest() { stores_["b"] = b_; }

  // Holds so many names, of which the target cannot get at the first, and begins to switch.
  void SwitchHolding(Process& process, int count) {
    for (int i = 0; i < count; i++) {
      names_.push_back("name " + std::to_string(i));
    }
    for (const std::string& name : names_) {
      const AcquireRequest request = New(name);
      ASSERT_EQ(Request(process, request), Kind::kGranted);
      claims_.push_back({request.name, request.token, request.lease});
    }
    b_->bad = names_.front();
    ASSERT_EQ(process.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
    answers_.resize(claims_.size());
  }
  Status ExtendAll(Process& process) { return process.locks->Extend(claims_, answers_); }
  Status ExtendOne(Process& process, size_t i) {
    return process.locks->Extend({&claims_[i], 1}, {&answers_[i], 1});
  }

  const std::shared_ptr<OneBadName> b_ = std::make_shared<OneBadName>(MakeMemoryLocks({}, clock_));
  std::vector<std::string> names_;
  std::vector<LockClaim> claims_;
  std::vector<Extended> answers_;
};

TEST_F(SwitchedMovesTest, ANameThatTakesAllTheTimeKeepsTheOthersWaitingOnce) {
  Process p = Open();
  SwitchHolding(p, 5);
  b_->takes_its_time = [this] { clock_.Advance(milliseconds(2'000)); };
  ASSERT_TRUE(ExtendAll(p));
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_.front(), Extended::kLater);
  EXPECT_EQ(std::count(answers_.begin(), answers_.end(), Extended::kYes), 4);
}

// A Confirm() comes while the hold is renewed. Some engines keep what is asked for by its token.
TEST_F(SwitchedMovesTest, WhatIsBeingMovedIsNotAskedForAgainByAnotherThread) {
  Process p = Open();
  SwitchHolding(p, 1);
  b_->bad.clear();
  const int before = b_->requests;
  Extended said{};
  b_->meanwhile = [&] { EXPECT_TRUE(p.locks->Extend(claims_, {&said, 1})); };
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(b_->requests, before + 1);
  EXPECT_EQ(said, Extended::kLater);
  EXPECT_EQ(answers_.front(), Extended::kYes);
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_.front(), Extended::kYes) << "it has moved";
}

// What came of the first move does not matter to the next one.
TEST_F(SwitchedMovesTest, AMoveThatFailedIsTriedAgain) {
  Process p = Open();
  SwitchHolding(p, 1);
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_.front(), Extended::kLater);
  b_->bad.clear();
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_.front(), Extended::kYes);
}

// Whoever renews asks for those of a batch that failed one by one.
TEST_F(SwitchedMovesTest, ANameThatTheTargetCannotReadIsNoMatterOfTheOthers) {
  Process p = Open();
  SwitchHolding(p, 3);
  b_->code = Code::kCorrupt;
  b_->fails_extends = true;
  const Status all = ExtendAll(p);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kCorrupt);
  EXPECT_EQ(all.error().effect, Effect::kUnknown) << "the other store has extended them";
  EXPECT_FALSE(ExtendOne(p, 0));
  for (const size_t i : {1, 2}) {
    EXPECT_TRUE(ExtendOne(p, i));
    EXPECT_EQ(answers_[i], Extended::kYes);
  }
}

TEST_F(SwitchedMovesTest, WhatHasEndedIsToldThoughTheTargetFails) {
  Process p = Open();
  SwitchHolding(p, 2);
  const auto ended = stores_.at("a")->Read(names_[0]);
  ASSERT_EQ(
      stores_.at("a")->Evict(names_[0], ended->parties.front().fence).value_or(Freed::kNotHeld),
      Freed::kYes);
  p.stores["b"]->cut = true;
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_[0], Extended::kGone);
  EXPECT_EQ(answers_[1], Extended::kLater);
}

// Its hold may end there, before its holder thinks so.
TEST_F(SwitchedMovesTest, WhatOneOfTheTwoDoesNotExtendNowDoesNotCount) {
  Process p = Open();
  SwitchHolding(p, 2);
  b_->bad.clear();
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_[1], Extended::kYes);
  b_->instead_of_yes = Extended::kLater;
  ASSERT_TRUE(ExtendAll(p));
  EXPECT_EQ(answers_[1], Extended::kLater);
}

}  // namespace
}  // namespace oncemq::testing
