// SPDX-License-Identifier: Apache-2.0
// Names that handlers take: from a domain, or from the assignment itself (rule 50).
#include <gtest/gtest.h>

#include "drive.h"
#include "lock_use.h"
#include "oncemq/framework/fenced_effects.h"
#include "oncemq/locks/memory_locks.h"
#include "scripted_source.h"

namespace oncemq::testing {
namespace {

// Rows in a map, written at once.
class Rows final : public EffectBatch {
 public:
  Status Put(std::string_view key, std::string_view value) override {
    rows_.insert_or_assign(std::string(key), std::string(value));
    return {};
  }
  Status Delete(std::string_view key) override {
    rows_.erase(std::string(key));
    return {};
  }
  Status Add(std::string_view, int64_t) override { return {}; }
  Result<std::optional<std::string>> Get(std::string_view key) override {
    const auto at = rows_.find(std::string(key));
    return at == rows_.end() ? std::optional<std::string>() : std::optional(at->second);
  }
  void Begin() override {}
  void Keep() override {}
  void Undo() override {}

 private:
  std::map<std::string, std::string> rows_;
};

// At the level atomic: grants everything, and says when effects are written.
class AtomicWindow final : public Window {
 public:
  std::function<void()> on_write = [] {};
  int written = 0;

  const WindowCapabilities& capabilities() const override {
    static constexpr WindowCapabilities kCan{
        .engine = "test", .level = Level::kAtomic, .atomic = true};
    return kCan;
  }
  Result<Own> RaiseOwn(uint32_t, int32_t, Own floor) override { return floor; }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    for (size_t i = 0; i < requests.size(); i++) {
      answers[i].answer = Answer::kGranted;
      answers[i].attempt = 1;
    }
    return {};
  }
  Status Complete(std::span<const CompleteRequest> requests, std::span<Change> answers) override {
    return All(requests.size(), answers);
  }
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t, int32_t) override {
    return std::unique_ptr<EffectBatch>(std::make_unique<Rows>());
  }
  Status CompleteWith(EffectBatch&, std::span<const CompleteRequest> requests,
                      std::span<Change> answers) override {
    on_write();
    written += static_cast<int>(requests.size());
    return All(requests.size(), answers);
  }
  Status Release(std::span<const ReleaseRequest> requests, std::span<Change> answers) override {
    return All(requests.size(), answers);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<Change> answers) override {
    return All(requests.size(), answers);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<Change> answers) override {
    return All(requests.size(), answers);
  }
  Status Restore(std::span<const RestoreRequest> requests, std::span<Change> answers) override {
    return All(requests.size(), answers);
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override { return {}; }

 private:
  static Status All(size_t count, std::span<Change> answers) {
    std::fill(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count), Change::kMade);
    return {};
  }
};

class HandlerLocksTest : public ::testing::Test {
 protected:
  // One run of so many messages, each of a lane of its own.
  std::vector<Fate> Drive(const Handler& handler, size_t messages = 1, Window* window = nullptr,
                          BootTime safe_until = BootTime::max()) {
    ScriptedSource source(script_);
    RunPolicy policy{.window = window != nullptr};
    if (window != nullptr) {
      policy.level = window->capabilities().level;
    }
    Job job(policy, TokenSource(1), source.NewView());
    job.run.safe_until = safe_until;
    std::deque<Script::Record> records(messages);
    std::deque<std::string> ids;
    for (uint32_t i = 0; i < messages; i++) {
      records[i].offset = i;
      RunItem item;
      item.slot = item.lane = i;
      item.message = &records[i];
      item.own = 77;
      item.id = ids.emplace_back("id " + std::to_string(i));
      job.run.items.push_back(item);
    }
    EXPECT_EQ(DriveRun(job, handler,
                       {window, nullptr, &SystemClock::Instance(), &errors_, source_of_locks_}),
              Driven::kSettled);
    std::vector<Fate> fates;
    for (const Settlement& settlement : job.machine.settlements()) {
      fates.push_back(settlement.fate);
    }
    return fates;
  }
  bool Held(std::string_view name) { return !engine_->Look(name)->parties.empty(); }
  void Evict(const Lease& lease) {
    ASSERT_EQ(*engine_->Evict(lease.name(), lease.fence()), Freed::kYes);
  }
  void UseElision() {
    auto locks = OpenLocks({.elided = true, .names_partition_owned = true}, Level::kAtomic);
    ASSERT_TRUE(locks.has_value());
    elided_ = *std::move(locks);
    source_of_locks_ = elided_.source;
  }

  const std::unique_ptr<Wake> wake_ = *Wake::Open();
  Script script_{*wake_};
  StoreErrors errors_;
  const std::shared_ptr<LockEngine> engine_ = MakeMemoryLocks();
  const std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(engine_);
  OpenedLocks elided_;
  LockSource source_of_locks_{domain_.get(), false};
};

TEST_F(HandlerLocksTest, ANameIsHeldWhileTheHandlerRunsAndNotBehindIt) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const auto lease = context.Lock("account/42");
    EXPECT_TRUE(lease.has_value() && *lease != nullptr);
    EXPECT_TRUE((*lease)->StillMine());
    EXPECT_NE(engine_->Look("account/42")->parties.at(0).who.find("topic/0@0"), std::string::npos)
        << "people see which delivery holds it";
    return Done{};
  });
  EXPECT_EQ(fates, std::vector{Fate::kApplied});
  EXPECT_FALSE(Held("account/42"));
}

TEST_F(HandlerLocksTest, AMessageWhoseLeaseWasLostIsNotDoneAndComesAgain) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const Lease* lease = *context.Lock("x");
    Evict(*lease);
    EXPECT_FALSE(*lease->Confirm());
    return Done{};
  });
  EXPECT_EQ(fates, std::vector{Fate::kRetry});
}

TEST_F(HandlerLocksTest, ARefusalUnderALostLeaseStandsForNothingEither) {
  const auto fates = Drive([&](const Message&, Context& context) -> Outcome {
    const Lease* lease = *context.Lock("x");
    Evict(*lease);
    EXPECT_FALSE(*lease->Confirm());
    return Reject{"found under a lock that was not ours"};
  });
  EXPECT_EQ(fates, std::vector{Fate::kRetry});
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
    const Lease* first = *context.Lock("x");
    EXPECT_EQ(*context.Lock("x"), first);
    EXPECT_NE(*context.Lock("y"), first);
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
    const Lease* exclusive = *context.Lock("y");
    EXPECT_EQ(*context.Lock("y", shared), exclusive);
    return Done{};
  });
}

TEST_F(HandlerLocksTest, SeveralNamesAreTakenTogetherOrNotAtAll) {
  const auto other = *domain_->Acquire("b");
  const std::vector<std::string> names{"c", "b", "a"};
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    EXPECT_TRUE(context.LockAll(names, once)->empty());
    EXPECT_FALSE(Held("a"));
    EXPECT_EQ(context.LockAll(std::vector<std::string>{"c", "a"})->size(), 2u);
    EXPECT_EQ(context.LockAll(names, once).error().code, Code::kInvalid)
        << "it would wait while it holds";
    return Done{};
  });
  EXPECT_FALSE(Held("a"));
}

TEST_F(HandlerLocksTest, ANameThatIsNotGrantedIsNoFailure) {
  const auto other = *domain_->Acquire("x");
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    const auto lease = context.Lock("x", once);
    EXPECT_TRUE(lease.has_value());
    EXPECT_EQ(*lease, nullptr);
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
  EXPECT_EQ(fates, (std::vector{Fate::kApplied, Fate::kWithdrawn, Fate::kWithdrawn}));
  EXPECT_FALSE(Held("x"));
}

TEST_F(HandlerLocksTest, RowsOfAnEarlierHolderAreRefused) {
  Rows rows;
  Lease first = std::move(**domain_->Acquire("x"));
  auto by_first = FencedEffects::Begin(rows, first);
  ASSERT_TRUE(by_first.has_value() && by_first->has_value());
  EXPECT_TRUE((*by_first)->Put("row", "1"));
  Evict(first);
  const Lease second = std::move(**domain_->Acquire("x"));
  auto by_second = FencedEffects::Begin(rows, second);
  ASSERT_TRUE(by_second.has_value() && by_second->has_value());
  EXPECT_EQ(*(*by_second)->Get("row"), "1");
  EXPECT_FALSE(FencedEffects::Begin(rows, first)->has_value());
  EXPECT_FALSE(*first.Confirm());
  EXPECT_EQ((*by_first)->Put("row", "2").error().code, Code::kFenced);
  EXPECT_EQ(FencedEffects::Begin(rows, Lease()).error().code, Code::kInvalid);
  const Lease counted =
      std::move(**domain_->Acquire("y", {.mode = LockMode::kCounted, .limit = 2}));
  EXPECT_EQ(FencedEffects::Begin(rows, counted).error().code, Code::kInvalid);
}

TEST_F(HandlerLocksTest, TheRowOfAFenceIsNobodysToWrite) {
  Rows rows;
  ASSERT_TRUE(rows.Put("fence/x", "of the user"));
  const Lease lease = std::move(**domain_->Acquire("x"));
  auto fenced = FencedEffects::Begin(rows, lease);
  ASSERT_TRUE(fenced.has_value() && fenced->has_value());
  const std::string row = std::string(1, '\0') + "oncemq/fence/x";
  EXPECT_TRUE((*rows.Get(row)).has_value()) << "here it is";
  const auto refused = [](const Status& done) {
    return !done && done.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused((*fenced)->Put(row, "0")));
  EXPECT_TRUE(refused((*fenced)->Add(row, 1)));
  EXPECT_TRUE(refused((*fenced)->Delete(row)));
  EXPECT_EQ(*(*fenced)->Get("fence/x"), "of the user");
}

// What would give rows a fence without a lease does not compile here.
template <class... Arguments>
concept BeginsRows = requires(Arguments... arguments) {
  FencedEffects::Begin(arguments...);
};

TEST_F(HandlerLocksTest, RowsUnderAFenceAreBegunByALeaseOnly) {
  static_assert(BeginsRows<Effects&, const Lease&>);
  static_assert(!BeginsRows<Effects&>);
  static_assert(!BeginsRows<Effects&, Fence>);
  static_assert(!BeginsRows<Effects&, std::string_view>);
  static_assert(!BeginsRows<Effects&, const Lease*>);
  static_assert(!std::is_default_constructible_v<FencedEffects>);
  static_assert(!std::is_constructible_v<FencedEffects, Effects&>);
  static_assert(!std::is_constructible_v<FencedEffects, Effects&, const Lease&>);
}

TEST_F(HandlerLocksTest, AnElidedNameHasTheOwnershipFenceAndEndsWithTheAssignment) {
  UseElision();
  const BootTime safe_until = SystemClock::Instance().Boot() + milliseconds(10'000);
  Drive(
      [&](const Message&, Context& context) -> Outcome {
        const Lease* lease = *context.Lock("x");
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
  auto other = *elided_.own->Acquire("x");
  std::jthread releases([&] {
    while (elided_.own->engine().Look("x")->parties.size() < 2) {
      std::this_thread::yield();
    }
    other->Release();
  });
  Drive(
      [&](const Message&, Context& context) -> Outcome {
        const Lease* lease = *context.Lock("x");
        EXPECT_LE(lease->safe_until(), safe_until);
        return Done{};
      },
      1, nullptr, safe_until);
}

TEST_F(HandlerLocksTest, AnElidedNameStillKeepsHandlersOfThisProcessApart) {
  UseElision();
  const auto other = *elided_.own->Acquire("x");
  Drive([&](const Message&, Context& context) -> Outcome {
    AcquireOptions once;
    once.until = BootTime::min();
    EXPECT_EQ(*context.Lock("x", once), nullptr);
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
  both.domain = domain_.get();
  EXPECT_EQ(code(both, Level::kAtomic), "invalid") << "they do not exclude each other";
  EXPECT_EQ(code({.domain = domain_.get()}, std::nullopt), "opened");
}

}  // namespace
}  // namespace oncemq::testing
