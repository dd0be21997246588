// SPDX-License-Identifier: Apache-2.0
#include "drive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "scripted_source.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

// Grants all, and refuses what handlers write.
class RefusingWindow final : public Window {
 public:
  explicit RefusingWindow(const WindowTimes& times = kTimesUnsaid)
      : capabilities_{.times = times} {}
  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch floor) override {
    return floor + 1;
  }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer> answers) override {
    for (ClaimAnswer& answer : answers) {
      answer.answer = ClaimVerdict::kGranted;
    }
    return {};
  }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override { return {}; }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange> changes) override {
    std::fill(changes.begin(), changes.end(), MarkerChange::kMade);
    return {};
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return {}; }
  Status Announce(std::span<const Announcement> announcements) override {
    EXPECT_FALSE(announcements[0].commits);
    announced++;
    return down ? Status(Error{Code::kUnavailable, Effect::kUnknown, "down"}) : Status();
  }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override { return {}; }
  Status Restore(std::span<const RestoreRequest>, std::span<MarkerChange>) override { return {}; }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override { return {}; }
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t, int32_t,
                                                  std::span<const ClaimRequest>) override {
    struct Refused final : EffectBatch {
      void Begin() override {}
      Status Keep() override { return Error{Code::kUnavailable, Effect::kNone, "refused"}; }
      void Undo() override {}
      std::string_view refusal() const override { return "refused"; }
    };
    return std::unique_ptr<EffectBatch>(std::make_unique<Refused>());
  }

  int announced = 0;
  bool down = false;

 private:
  WindowCapabilities capabilities_;
};

TEST(Drive, PastSafeUntilNoHandlerStartsAlsoRightAfterAQuickOne) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(BatchPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.batch.safe_until = clock.Boot() + milliseconds(10);
  const Script::Record record;
  for (uint32_t i = 0; i < 3; i++) {
    BatchItem item;
    item.slot = item.lane = i;
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    job.batch.items.push_back(item);
  }
  int calls = 0;
  StoreErrors errors;
  const Handler stopped_behind_the_first = [&](const Message&, Context&) -> Outcome {
    calls++;
    clock.Advance(milliseconds(20));  // SIGSTOP, SIGCONT
    return Done{};
  };
  EXPECT_EQ(DriveBatch(job, stopped_behind_the_first, {nullptr, nullptr, &clock, &errors}),
            Driven::kSettled);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(job.machine.settlements()[0].fate, DeliveryFate::kApplied);
  EXPECT_EQ(job.machine.settlements()[1].fate, DeliveryFate::kWithdrawn);
}

constexpr milliseconds kLease{1'000};

// A run of three at opaque, whose handler takes three quarters of the lease.
class ClaimsThatEnd : public ::testing::Test {
 protected:
  ClaimsThatEnd() {
    job_.batch.safe_until = BootTime::max();
    for (uint32_t i = 0; i < 3; i++) {
      BatchItem item;
      item.slot = item.lane = i;
      item.id = ids_[i];
      item.message = const_cast<void*>(static_cast<const void*>(&record_));
      job_.batch.items.push_back(item);
    }
  }
  void Drive(const std::function<void()>& in_handler) {
    const Handler handler = [&](const Message&, Context&) -> Outcome {
      calls_++;
      clock_.Advance(kLease * 3 / 4);
      in_handler();
      return Done{};
    };
    EXPECT_EQ(DriveBatch(job_, handler, {&window_, nullptr, &clock_, &errors_}), Driven::kSettled);
  }

  const std::unique_ptr<Wake> wake_ = *Wake::Open();
  Script script_{*wake_};
  ScriptedSource source_{script_};
  const Script::Record record_;
  const std::string ids_[3] = {"0", "1", "2"};
  Job job_{BatchPolicy{.level = Level::kOpaque}, TokenSource(1), source_.NewView()};
  RefusingWindow window_{{.lease = kLease, .max_lease = kLease * 2}};
  ManualClock clock_;
  StoreErrors errors_;
  int calls_ = 0;
};

TEST_F(ClaimsThatEnd, NoHandlerBeginsPastTheEndOfItsClaim) {
  Drive([] {});
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(job_.machine.settlements()[2].fate, DeliveryFate::kWithdrawn);
}

TEST_F(ClaimsThatEnd, ARenewalMovesTheEnd) {
  Drive([&] { job_.claims_end.Renewed(job_.claims_end.round(), clock_.Boot()); });
  EXPECT_EQ(calls_, 3);
}

TEST_F(ClaimsThatEnd, NoRenewalMovesItBeyondTheLongestLease) {
  Drive([&] {
    job_.claims_end.Renewed(job_.claims_end.round(), clock_.Boot());
    clock_.Advance(kLease / 2);
  });
  EXPECT_EQ(calls_, 2) << "2.5 leases after the claim";
}

TEST_F(ClaimsThatEnd, ARenewalOfAnEarlierRunMovesNothing) {
  const uint64_t earlier = job_.claims_end.round();
  Drive([&] { job_.claims_end.Renewed(earlier, clock_.Boot()); });
  EXPECT_EQ(calls_, 2);
}

TEST(Drive, TheWordsOfAnExceptionAreTheReasonOfTheRetry) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(BatchPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.batch.safe_until = BootTime::max();
  const Script::Record record;
  for (uint32_t i = 0; i < 2; i++) {
    BatchItem item;
    item.slot = item.lane = i;
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    job.batch.items.push_back(item);
  }
  int calls = 0;
  StoreErrors errors;
  const Handler throws = [&calls](const Message&, Context&) -> Outcome {
    if (++calls == 1) {
      throw std::runtime_error("no connection");
    }
    throw 42;
  };
  ASSERT_EQ(DriveBatch(job, throws, {nullptr, nullptr, &clock, &errors}), Driven::kSettled);
  EXPECT_EQ(job.machine.settlements()[0].fate, DeliveryFate::kRetry);
  EXPECT_EQ(job.machine.settlements()[0].text, "no connection");
  EXPECT_EQ(job.machine.settlements()[1].text, "something that is no std::exception");
}

TEST(Drive, ARetryWithoutAReasonHasThatOfTheRefusedEffect) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(BatchPolicy{.level = Level::kAtomic}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.batch.safe_until = BootTime::max();
  const Script::Record record;
  const std::string ids[] = {"0", "1", "2"};
  for (uint32_t i = 0; i < 3; i++) {
    BatchItem item;
    item.slot = item.lane = i;
    item.id = ids[i];
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    job.batch.items.push_back(item);
  }
  RefusingWindow window;
  StoreErrors errors;
  const Handler handler = [](const Message&, Context& context) -> Outcome {
    return context.id() == "0"   ? Outcome(Retry{})
           : context.id() == "1" ? Outcome(Retry{.why = "mine"})
                                 : Outcome(Done{});
  };
  ASSERT_EQ(DriveBatch(job, handler, {&window, nullptr, &clock, &errors}), Driven::kSettled);
  EXPECT_EQ(job.machine.settlements()[0].text, "refused");
  EXPECT_EQ(job.machine.settlements()[1].text, "mine");
  EXPECT_EQ(job.machine.settlements()[2].text, "refused");
}

// Appends, and notes how often the window was told before.
class EndsLog final : public OutcomeLog {
 public:
  explicit EndsLog(const RefusingWindow& window) : window_(window) {}
  void Name(uint32_t, const std::string&) override {}
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView&) override {
    for (const JournalEntry& entry : entries) {
      EXPECT_EQ(entry.kind, RecordKind::kEnded);
      kept_by.push_back(window_.announced);
    }
    return kept_by.size();
  }

  std::vector<int> kept_by;

 private:
  const RefusingWindow& window_;
};

TEST(Drive, TheEndOfARedrivenMessageIsOnRecordOnceItsMarkerPersists) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  RefusingWindow window;
  EndsLog log(window);
  ManualClock clock;
  StoreErrors errors;
  const Script::Record record;
  const auto drive = [&] {
    Job job(BatchPolicy{.level = Level::kGuarded, .reject = RejectPolicy::kPark}, TokenSource(1),
            source.NewView());
    job.batch.safe_until = BootTime::max();
    BatchItem& item = job.batch.items.emplace_back();
    item.id = "x";
    item.redriven = true;
    item.stage = Stage::kEnded;
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    const Handler never = [](const Message&, Context&) -> Outcome { return Reject{"called"}; };
    EXPECT_EQ(DriveBatch(job, never, {&window, &log, &clock, &errors}), Driven::kSettled);
    const Settlement& settlement = job.machine.settlements()[0];
    return settlement.fate;
  };
  window.down = true;
  EXPECT_EQ(drive(), DeliveryFate::kPending);
  EXPECT_TRUE(log.kept_by.empty());
  window.down = false;
  EXPECT_NE(drive(), DeliveryFate::kPending);
  EXPECT_EQ(log.kept_by, std::vector<int>{2});
}

TEST(Drive, AnExceptionIsLoggedWithTheIdAndTheAttemptOfItsMessage) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(BatchPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.batch.safe_until = BootTime::max();
  const Script::Record record;
  BatchItem item;
  item.id = "pay-7";
  item.message = const_cast<void*>(static_cast<const void*>(&record));
  job.batch.items.push_back(item);
  StoreErrors errors;
  const Handler throws = [](const Message&, Context&) -> Outcome {
    throw std::runtime_error("no connection");
  };
  LogFile log;
  ASSERT_EQ(DriveBatch(job, throws, {nullptr, nullptr, &clock, &errors}), Driven::kSettled);
  const std::string text = log.End();
  EXPECT_NE(text.find("the handler threw"), text.npos) << text;
  EXPECT_NE(text.find(R"("id":"pay-7","attempt":1,)"), text.npos) << text;
  EXPECT_EQ(text.find("trace_id"), text.npos) << text;
}

TEST(Drive, LinesOfACallCarryTheTraceOfItsMessage) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(BatchPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.batch.safe_until = BootTime::max();
  const Script::Record record{.traceparent =
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
  BatchItem item;
  item.message = const_cast<void*>(static_cast<const void*>(&record));
  job.batch.items.push_back(item);
  StoreErrors errors;
  std::string parent;
  const Handler throws = [&](const Message&, Context& context) -> Outcome {
    parent = context.trace().parent;
    Log(LogLevel::kInfo, "payments", "called");
    throw std::runtime_error("no connection");
  };
  LogFile log;
  ASSERT_EQ(DriveBatch(job, throws, {nullptr, nullptr, &clock, &errors}), Driven::kSettled);
  Log(LogLevel::kInfo, "payments", "after");
  EXPECT_EQ(parent, record.traceparent);
  const std::string text = log.End();
  const std::string field = R"("trace_id":"4bf92f3577b34da6a3ce929d0e0e4736")";
  for (const char* line : {"called", "the handler threw"}) {
    const size_t at = text.find(line);
    ASSERT_NE(at, text.npos) << text;
    EXPECT_NE(text.substr(at, text.find('\n', at) - at).find(field), text.npos) << text;
  }
  EXPECT_EQ(text.find(field, text.find("after")), text.npos) << text;
}

}  // namespace
}  // namespace oncemq::testing
