// SPDX-License-Identifier: Apache-2.0
// How many calls the end of a switchboard takes, whichever of them it finds under way.
#include <optional>
#include <thread>

#include "aside_gate.h"
#include "support/stop_requested_within.h"
#include "switchboard_fixture.h"

namespace oncemq::testing {
namespace {

using Calls = std::vector<std::string>;

// Writes down what a switchboard calls, stores too. One call lasts until the switchboard is being
// destroyed: its thread's wait is stopped by that, and in these tests by nothing else.
//
// Thread safety: any thread; Await() by one.
class LastingStore final : public SwitchStore {
 public:
  explicit LastingStore(std::shared_ptr<SharedSwitchStore> shared) : view_(std::move(shared)) {}

  // Lets the switchboard's thread go around once. Whether it came to that many calls before the one
  // that lasts, which is under way then; else the turn is over.
  bool TurnUpTo(size_t before) {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&] { return waits_; });
    calls_.clear();
    lasting_ = before;
    waits_ = false;
    go_ = true;
    changed_.notify_all();
    changed_.wait(mutex_, [&] { return waits_ || under_way_; });
    return under_way_;
  }
  void Turn() { TurnUpTo(1'000); }
  // It is this call that lasts, whoever makes it.
  void Lasts(const std::string& call) {
    MutexLock lock(mutex_);
    lasts_ = call;
  }
  void UntilItLasts() {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&] { return under_way_; });
  }
  // Those that were begun when the end had begun.
  Calls at_the_end() {
    MutexLock lock(mutex_);
    return at_the_end_;
  }
  Calls calls() {
    MutexLock lock(mutex_);
    return calls_;
  }
  // Also says that a call to a store begins.
  void Note(const std::string& call) {
    MutexLock lock(mutex_);
    if (ending_) {
      at_the_end_.push_back(call);
      return;
    }
    calls_.push_back(call);
    if (calls_.size() == lasting_ + 1 || call == lasts_) {
      under_way_ = true;
      changed_.notify_all();
      changed_.wait(mutex_, [&] { return ending_; });
    }
  }

  Result<Text> Read() override {
    Note("read");
    return view_.Read();
  }
  Result<bool> Swap(std::string_view text, uint64_t version) override {
    Note("swap");
    return view_.Swap(text, version);
  }
  Status Await(uint64_t, BootTime, const std::stop_token& stop) override {
    on_stop_.emplace(stop, [this] {
      MutexLock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    });
    MutexLock lock(mutex_);
    waits_ = true;
    changed_.notify_all();
    changed_.wait(mutex_, [&] { return go_ || ending_; });
    go_ = false;
    return {};
  }
  Status Say(std::string_view who, std::string_view word) override {
    Note("say");
    return view_.Say(who, word);
  }
  Result<std::map<std::string, std::string>> Hear() override {
    Note("hear");
    return view_.Hear();
  }
  Status Bury(std::string_view who) override {
    Note("bury " + std::string(who));
    return view_.Bury(who);
  }

 private:
  SwitchStoreView view_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool waits_ GUARDED_BY(mutex_) = false;
  bool go_ GUARDED_BY(mutex_) = false;
  bool under_way_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  size_t lasting_ GUARDED_BY(mutex_) = 1'000;
  std::string lasts_ GUARDED_BY(mutex_);
  Calls calls_ GUARDED_BY(mutex_);
  Calls at_the_end_ GUARDED_BY(mutex_);
};

class SwitchboardEndTest : public SwitchboardTest {
 protected:
  // Over a record of its own.
  void OpenAnew(const std::function<void(SwitchboardOptions&)>& change = [](auto&) {}) {
    shared_anew_ = std::make_shared<SharedSwitchStore>();
    store_ = std::make_shared<LastingStore>(shared_anew_);
    SwitchboardOptions options = Options();
    options.who = "p";
    options.seal = [s = store_.get()](std::string_view store, uint32_t) -> Status {
      s->Note("seal " + std::string(store));
      return {};
    };
    options.probe = [s = store_.get()](std::string_view store) -> Status {
      s->Note("probe " + std::string(store));
      return Error{Code::kUnavailable, Effect::kNone, "no answer"};
    };
    change(options);
    auto board = Switchboard::Open(store_, options, clock_);
    ASSERT_TRUE(board.has_value()) << ToString(board.error());
    board_ = *std::move(board);
    store_->Turn();
  }

  std::shared_ptr<SharedSwitchStore> shared_anew_;
  std::shared_ptr<LastingStore> store_;
  std::unique_ptr<Switchboard> board_;
};

TEST_F(SwitchboardEndTest, BehindWhicheverCallOfATurnItOnlyTakesBackThatItLives) {
  // Store a does not answer, and nobody else lives who could vote.
  const Calls turn{"read",    "probe a", "say",     "hear",    "bury d1",
                   "bury d2", "bury d3", "bury d4", "probe b", "probe c"};
  size_t before = 0;
  for (;; before++) {
    OpenAnew();
    {
      MutexLock lock(shared_anew_->mutex);
      for (const char* dead : {"d1", "d2", "d3", "d4"}) {
        shared_anew_->words[dead] = "1 0";
      }
    }
    store_->Turn();
    clock_.Advance(std::chrono::hours(1));
    if (!store_->TurnUpTo(before)) {
      break;
    }
    board_.reset();
    EXPECT_EQ(store_->at_the_end(), Calls{"bury p"}) << "behind " << turn.at(before);
  }
  EXPECT_EQ(store_->calls(), turn);
  EXPECT_EQ(before, turn.size());
}

TEST_F(SwitchboardEndTest, WhoeverTakesNoVotesMakesNoCallBehindTheOneUnderWay) {
  const Calls turn{"read", "read", "swap", "read", "seal b", "seal a"};
  size_t before = 0;
  for (;; before++) {
    OpenAnew([](SwitchboardOptions& options) {
      options.automatic = false;
      options.probe = nullptr;
    });
    ASSERT_TRUE(board_->Begin("b", SwitchMode::kBoth, "").has_value());
    store_->Turn();
    clock_.Advance(kWait);
    if (!store_->TurnUpTo(before)) {
      break;
    }
    board_.reset();
    EXPECT_EQ(store_->at_the_end(), Calls()) << "behind " << turn.at(before);
  }
  EXPECT_EQ(store_->calls(), turn);
  EXPECT_EQ(before, turn.size());
}

TEST_F(SwitchboardEndTest, OfTheStoresThatAreToBeSealedNoneIsBegunBehindTheOneUnderWay) {
  OpenAnew([](SwitchboardOptions& options) {
    options.aside = nullptr;
    options.seal = [seal = options.seal](std::string_view store, uint32_t epoch) -> Status {
      return epoch == 4 ? seal(store, epoch)
                        : Status(Error{Code::kUnavailable, Effect::kNone, "no answer yet"});
    };
  });
  ASSERT_TRUE(board_->Begin("c", SwitchMode::kBoth, "").has_value());
  ASSERT_TRUE(board_->CallOff("").has_value());
  store_->Lasts("seal b");
  ASSERT_TRUE(board_->Begin("b", SwitchMode::kBoth, "").has_value());
  store_->UntilItLasts();
  board_.reset();
  EXPECT_EQ(store_->at_the_end(), Calls{"bury p"}) << "neither a nor c is sealed";
}

TEST_F(SwitchboardEndTest, OfTheStoresThatAreAskedNoneIsBegunBehindTheOneUnderWay) {
  OpenAnew([](SwitchboardOptions& options) { options.aside = nullptr; });
  clock_.Advance(std::chrono::hours(1));
  board_->Report("a", false);
  board_->Report("a", false);
  store_->Lasts("probe b");
  store_->Turn();
  store_->UntilItLasts();
  board_.reset();
  EXPECT_EQ(store_->at_the_end(), Calls{"bury p"}) << "c is not asked";
}

// Whoever does it may do it for several, and come to it late.
TEST_F(SwitchboardEndTest, WhatItsUserDoesAsideIsWaitedForOnceItHasBegunAndElseDoesNothing) {
  std::vector<std::function<void()>> given;
  std::stop_source gone;
  OpenAnew([&](SwitchboardOptions& options) {
    options.aside = [&](std::function<void()> call) { given.push_back(std::move(call)); };
    options.probe = [&, probe = options.probe](std::string_view store) {
      const Status answer = probe(store);
      EXPECT_FALSE(StopRequestedWithin(gone.get_token(), milliseconds(200)));
      return answer;
    };
  });
  ASSERT_TRUE(board_->Begin("b", SwitchMode::kBoth, "").has_value());
  ASSERT_EQ(given.size(), 2u);
  store_->Lasts("probe a");
  std::thread aside(given.front());
  store_->UntilItLasts();
  board_.reset();
  gone.request_stop();
  aside.join();
  given.back()();
  EXPECT_EQ(store_->at_the_end(), Calls{"bury p"});
}

TEST(AsideGateTest, WhatComesToItWhenItIsShutIsNotCalled) {
  AsideGate gate;
  int calls = 0;
  gate.Run([&] { calls++; });
  gate.Shut();
  gate.Run([&] { calls++; });
  EXPECT_EQ(calls, 1);
}

TEST(SwitchStoreTest, AWaitByLookingThatIsStoppedLooksNoMore) {
  class CountingStore final : public SwitchStore {
   public:
    Result<Text> Read() override {
      reads++;
      return Text{};
    }
    Result<bool> Swap(std::string_view, uint64_t) override { return false; }
    Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
      return AwaitByPolling(version, until, stop, milliseconds(1));
    }
    Status Say(std::string_view, std::string_view) override { return {}; }
    Result<std::map<std::string, std::string>> Hear() override {
      return std::map<std::string, std::string>();
    }
    Status Bury(std::string_view) override { return {}; }

    int reads = 0;
  };
  CountingStore store;
  std::stop_source stop;
  const BootTime now = SystemClock::Instance().Boot();
  EXPECT_TRUE(store.Await(0, now, stop.get_token()));
  EXPECT_EQ(store.reads, 1);
  stop.request_stop();
  EXPECT_TRUE(store.Await(0, now, stop.get_token()));
  EXPECT_EQ(store.reads, 1);
}

}  // namespace
}  // namespace oncemq::testing
