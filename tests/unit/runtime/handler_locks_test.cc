// SPDX-License-Identifier: Apache-2.0
// Names that handlers take: from a domain, or from the assignment itself (rule 50).
#include <gtest/gtest.h>

#include "handler_locks_fixture.h"
#include "support/calls_of_this_thread.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

// Rows that nobody looks at.
class Rows final : public EffectBatch {
 public:
  explicit Rows(const std::function<void()>& on_keep) : on_keep_(on_keep) {}
  void Begin() override {}
  Status Keep() override {
    on_keep_();
    return {};
  }
  void Undo() override {}

 private:
  const std::function<void()>& on_keep_;
};

// At the level atomic: grants everything, and says when effects are written.
class AtomicWindow final : public Window {
 public:
  std::function<void()> on_keep = [] {};  // a handler has returned Done
  std::function<void()> on_write = [] {};
  int written = 0;

  const WindowCapabilities& capabilities() const override {
    static constexpr WindowCapabilities kCan{
        .engine = "test", .level = Level::kAtomic, .atomic = true};
    return kCan;
  }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch floor) override { return floor; }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    for (size_t i = 0; i < requests.size(); i++) {
      answers[i].answer = ClaimVerdict::kGranted;
      answers[i].attempt = 1;
    }
    return {};
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override {
    return All(requests.size(), answers);
  }
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t, int32_t,
                                                  std::span<const ClaimRequest>) override {
    return std::unique_ptr<EffectBatch>(std::make_unique<Rows>(on_keep));
  }
  Status CompleteWith(EffectBatch&, std::span<const CompleteRequest> requests,
                      std::span<MarkerChange> answers) override {
    on_write();
    written += static_cast<int>(requests.size());
    return All(requests.size(), answers);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override {
    return All(requests.size(), answers);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override {
    return All(requests.size(), answers);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override {
    return All(requests.size(), answers);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override {
    return All(requests.size(), answers);
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override { return {}; }

 private:
  static Status All(size_t count, std::span<MarkerChange> answers) {
    std::fill(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count),
              MarkerChange::kMade);
    return {};
  }
};

TEST_F(HandlerLocksTest, ANameIsHeldWhileTheHandlerRunsAndNotBehindIt) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const auto lease = context.Lock("account/42");
    EXPECT_TRUE(lease.has_value() && *lease);
    EXPECT_TRUE((*lease)->StillMine());
    EXPECT_NE(engine_->Read("account/42")->parties.at(0).who.find("topic/0@0"), std::string::npos)
        << "people see which delivery holds it";
    return Done{};
  });
  EXPECT_EQ(fates, std::vector{DeliveryFate::kApplied});
  EXPECT_FALSE(Held("account/42"));
}

TEST_F(HandlerLocksTest, AMessageWhoseLeaseWasLostIsNotDoneAndComesAgain) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const Lease* lease = &**context.Lock("x");
    Evict(*lease);
    EXPECT_FALSE(*lease->Confirm());
    return Done{};
  });
  EXPECT_EQ(fates, std::vector{DeliveryFate::kRetry});
}

TEST_F(HandlerLocksTest, ARefusalUnderALostLeaseStandsForNothingEither) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const Lease* lease = &**context.Lock("x");
    Evict(*lease);
    EXPECT_FALSE(*lease->Confirm());
    return Reject{"found under a lock that was not ours"};
  });
  EXPECT_EQ(fates, std::vector{DeliveryFate::kRetry});
}

TEST_F(HandlerLocksTest, AHandlerThatThrowsGivesItsNamesBack) {
  Drive([&](const Message&, Context& context) -> Outcome {
    EXPECT_TRUE(context.Lock("x").has_value());
    throw std::runtime_error("what");
  });
  EXPECT_FALSE(Held("x"));
}

TEST_F(HandlerLocksTest, TheSameNameTwiceIsOneLease) {
  Drive([&](const Message&, Context& context) -> Outcome {
    const Lease* first = &**context.Lock("x");
    EXPECT_EQ(&**context.Lock("x"), first);
    EXPECT_NE(&**context.Lock("y"), first);
    EXPECT_TRUE(first->StillMine()) << "it stays where it is";
    return Done{};
  });
}

TEST_F(HandlerLocksTest, ASharedLeaseIsNotTakenForAnExclusiveOne) {
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions shared;
    shared.mode = LockMode::kShared;
    EXPECT_TRUE(context.Lock("x", shared).has_value());
    EXPECT_TRUE(context.Lock("x", shared).has_value());
    EXPECT_EQ(context.Lock("x").error().code, Code::kInvalid);
    const Lease* exclusive = &**context.Lock("y");
    EXPECT_EQ(&**context.Lock("y", shared), exclusive);
    return Done{};
  });
}

TEST_F(HandlerLocksTest, SeveralNamesAreTakenTogetherOrNotAtAll) {
  const auto other = *domain_->Acquire("b");
  const std::vector<std::string> names{"c", "b", "a"};
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    EXPECT_FALSE(*context.LockAll(names, once));
    EXPECT_FALSE(Held("a"));
    EXPECT_EQ((*context.LockAll(std::vector<std::string>{"c", "a"}))->size(), 2u);
    EXPECT_EQ(context.LockAll(names, once).error().code, Code::kInvalid)
        << "it would wait while it holds";
    return Done{};
  });
  EXPECT_FALSE(Held("a"));
}

TEST_F(HandlerLocksTest, OverAStoreThatHangsManyNamesAreGivenBackInTheTimeOfOne) {
  const auto hangs = std::make_shared<ShakyLocks>();
  const std::shared_ptr<LockDomain> domain = *LockDomain::Open(hangs);
  source_of_locks_.domain = domain;
  const auto frees = CallsOfThisThread(hangs->before_free);
  std::vector<std::string> names;
  for (int i = 0; i < 30; i++) {
    names.push_back(std::to_string(i));
  }
  Drive([&](const Message&, Context& context) -> Outcome {
    EXPECT_EQ((*context.LockAll(names))->size(), names.size());
    hangs->on_free = ShakyLocks::Fault::kRefused;
    return Done{};
  });
  EXPECT_EQ(*frees, 1);
  hangs->on_free = ShakyLocks::Fault::kNone;
}

TEST_F(HandlerLocksTest, ANameThatIsNotGrantedIsNoFailure) {
  const auto other = *domain_->Acquire("x");
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    const auto lease = context.Lock("x", once);
    EXPECT_TRUE(lease.has_value());
    EXPECT_FALSE(*lease);
    return Done{};
  });
}

TEST_F(HandlerLocksTest, AServiceWithoutLocksSaysSo) {
  source_of_locks_ = {};
  Drive([&](const Message&, Context& context) -> Outcome {
    EXPECT_EQ(context.Lock("x").error().code, Code::kInvalid);
    EXPECT_EQ(context.LockAll(std::vector<std::string>{"x"}).error().code, Code::kInvalid);
    return Done{};
  });
}

TEST_F(HandlerLocksTest, AtTheLevelAtomicTheNameIsKeptUntilTheEffectsAreWritten) {
  AtomicWindow window;
  bool held_at_the_write = false;
  window.on_write = [&] { held_at_the_write = Held("x"); };
  int calls = 0;
  const auto fates = Drive(
      [&](const Message&, Context& context) -> Outcome {
        calls++;
        EXPECT_TRUE(context.Lock("x").has_value());
        return Done{};
      },
      3, &window);
  EXPECT_TRUE(held_at_the_write);
  EXPECT_EQ(calls, 1) << "the next one might wait for what this one keeps";
  EXPECT_EQ(fates, (std::vector{DeliveryFate::kApplied, DeliveryFate::kWithdrawn,
                                DeliveryFate::kWithdrawn}));
  EXPECT_FALSE(Held("x"));
}

TEST_F(HandlerLocksTest, NothingIsWrittenUnderALeaseThatWasLostBehindTheHandler) {
  AtomicWindow window;
  const Lease* lease = nullptr;
  window.on_keep = [&] {
    Evict(*lease);
    EXPECT_FALSE(*lease->Confirm());
  };
  const auto fates = Drive(
      [&](const Message&, Context& context) -> Outcome {
        lease = &**context.Lock("x");
        return Done{};
      },
      1, &window);
  EXPECT_EQ(window.written, 0);
  EXPECT_EQ(fates, std::vector{DeliveryFate::kWithdrawn}) << "it comes again";
}

// It writes nothing, so nobody has to wait for it, and it takes nobody with it.
TEST_F(HandlerLocksTest, ALeaseWhoseHandlerWasNotDoneKeepsNoOtherMessageFromBeingWritten) {
  AtomicWindow window;
  const auto fates = Drive(
      [&](const Message& message, Context& context) -> Outcome {
        if (message.offset() != 1) {
          return Done{};
        }
        const Lease* lease = &**context.Lock("x");
        Evict(*lease);
        EXPECT_FALSE(*lease->Confirm());
        return Done{};
      },
      3, &window);
  EXPECT_EQ(fates,
            (std::vector{DeliveryFate::kApplied, DeliveryFate::kRetry, DeliveryFate::kApplied}));
  EXPECT_EQ(window.written, 2);
}

TEST_F(HandlerLocksTest, AnElidedNameHasTheOwnershipFenceAndEndsWithTheAssignment) {
  UseElision();
  const BootTime safe_until = SystemClock::Instance().Boot() + milliseconds(10'000);
  Drive(
      [&](const Message&, Context& context) -> Outcome {
        const Lease* lease = &**context.Lock("x");
        EXPECT_EQ(lease->fence(), (Fence{0, 77}));
        EXPECT_TRUE(lease->StillMine());
        EXPECT_LE(lease->safe_until(), safe_until);
        EXPECT_FALSE(Held("x")) << "no store was asked";
        return Done{};
      },
      1, nullptr, safe_until);
}

// What the wait took must not be added behind the assignment's end.
TEST_F(HandlerLocksTest, AnElidedNameThatWasWaitedForEndsWithTheAssignmentToo) {
  UseElision();
  const BootTime safe_until = SystemClock::Instance().Boot() + milliseconds(10'000);
  auto other = *elided_.domain->Acquire("x");
  std::jthread releases([&] {
    while (elided_.domain->engine().Read("x")->parties.size() < 2) {
      std::this_thread::yield();
    }
    other->Release();
  });
  Drive(
      [&](const Message&, Context& context) -> Outcome {
        const Lease* lease = &**context.Lock("x");
        EXPECT_LE(lease->safe_until(), safe_until);
        return Done{};
      },
      1, nullptr, safe_until);
}

TEST_F(HandlerLocksTest, AnElidedNameStillKeepsHandlersOfThisProcessApart) {
  UseElision();
  const auto other = *elided_.domain->Acquire("x");
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    EXPECT_FALSE(*context.Lock("x", once));
    return Done{};
  });
}

TEST_F(HandlerLocksTest, ElisionIsOfferedWithCheckedEffectsOnly) {
  const auto code = [](const LockUse& use, std::optional<Level> level) {
    const auto locks = OpenLocks(use, level);
    return locks ? std::string("opened") : std::string(ToString(locks.error().code));
  };
  const LockUse elided{.elided = true, .names_partition_owned = true};
  LockUse checked = elided;
  checked.effects_check_fences = true;
  EXPECT_EQ(code(elided, Level::kAtomic), "opened");
  EXPECT_EQ(code(checked, Level::kGuarded), "opened");
  EXPECT_EQ(code(elided, Level::kGuarded), "invalid");
  EXPECT_EQ(code(checked, Level::kOpaque), "invalid");
  EXPECT_EQ(code(checked, std::nullopt), "invalid");
  EXPECT_EQ(code({.elided = true, .effects_check_fences = true}, Level::kAtomic), "invalid");
  LockUse both = checked;
  both.domain = domain_;
  EXPECT_EQ(code(both, Level::kAtomic), "invalid") << "they do not exclude each other";
  EXPECT_EQ(code({.domain = domain_}, std::nullopt), "opened");
}

}  // namespace
}  // namespace oncemq::testing
