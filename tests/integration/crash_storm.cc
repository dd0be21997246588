// SPDX-License-Identifier: Apache-2.0
#include "crash_storm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <set>
#include <utility>

#include "ledger_rows.h"
#include "oncemq/framework/commit_metadata.h"
#include "power_cut.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/power/power_loss.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr int kMembers = 3;
constexpr const char* kWindows[] = {"memory", "opaque", "guarded", "atomic"};

}  // namespace

void StormSights::Add(const StormSights& more) {
  for (int death = 0; death < kDeaths; death++) {
    deaths[death] += more.deaths[death];
  }
  left += more.left;
  joined += more.joined;
  broker_deaths += more.broker_deaths;
  power_losses += more.power_losses;
  copies += more.copies;
  thought_dead += more.thought_dead;
  called_again += more.called_again;
  reported += more.reported;
}

CrashStorm::CrashStorm(const std::string& bootstrap, const std::string& name, const StormSize& size,
                       uint64_t seed, const CrashStormOptions& options)
    : size_(size),
      options_(options),
      setup_{bootstrap, name + "-group", name, dir_.path(),
             kWindows[static_cast<size_t>(options.window)]},
      random_(seed),
      producer_(bootstrap, name, size),
      target_(dir_.path() / "target"),
      call_log_(dir_.path() / "calls") {
  KafkaAdmin(bootstrap).CreateTopic({.name = name, .partitions = size.partitions});
}

CrashStorm::Member CrashStorm::Start(std::map<std::string, std::string> environment) {
  environment["ONCEMQ_SESSION_MS"] = std::to_string(options_.session.count());
  const uint32_t number = started_++;
  return {number, StartMember(setup_, number, std::move(environment))};
}

void CrashStorm::AwaitWork(const Member& member) {
  ASSERT_TRUE(Feed([&] { return Count(CallRecord::kCalled, member.number) > 0; }))
      << LogOf(member.number);
}

CrashStorm::Member& CrashStorm::AnyMember() {
  return members_[random_() % members_.size()];
}

void CrashStorm::Run(int kills) {
  Begin(kMembers, static_cast<uint32_t>(kills));
  for (int kill = 0; kill < kills && !::testing::Test::HasFatalFailure(); kill++) {
    KillOne(static_cast<Death>(kill % kDeaths));
  }
  if (!::testing::Test::HasFatalFailure()) {
    End();
  }
}

void CrashStorm::LoseThePower() {
  const auto stores = dir_.path() / "stores";
  const auto left = dir_.path() / "left";
  std::filesystem::create_directories(stores);
  PowerLoss loss(stores, dir_.path() / "record");
  const Member member = Start(loss.Environment());
  AwaitWork(member);
  const size_t wanted = 50 + random_() % 200;
  ASSERT_TRUE(Feed([&] { return Count(CallRecord::kCalled, member.number) > wanted; }))
      << LogOf(member.number);
  const BootTime died = SystemClock::Instance().Boot();
  member.process->Kill9();
  NoteUnshown(member.number, died);
  loss.ReadRecord();
  loss.ReplayTo(loss.entries());
  constexpr Keep kKeeps[] = {Keep::kSynced, Keep::kBefore, Keep::kBeforeOwn, Keep::kAny};
  CutThePower(loss, kKeeps[random_() % std::size(kKeeps)], random_, left);
  std::filesystem::remove_all(stores);
  std::filesystem::rename(left, stores);
  sights_.power_losses++;
}

void CrashStorm::Begin(size_t members, uint32_t acts) {
  feeds_ = 2 * acts + 2;
  while (members_.size() < members) {
    members_.push_back(Start());
  }
  ASSERT_TRUE(Feed([&] {
    return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      return Count(CallRecord::kCalled, member.number) > 0;
    });
  })) << LogOf(members_.front().number);
}

void CrashStorm::KillOne(Death death) {
  Member& victim = AnyMember();
  ASSERT_TRUE(victim.process->Running()) << LogOf(victim.number);
  // The id is ours until the process is reaped.
  ::kill(victim.process->pid(), death == Death::kAfterTheEffect ? SIGUSR2 : SIGUSR1);
  // A member that the group has thought dead: another one handles its message, and no map shows it.
  // After two deaths without progress a message runs alone, so nothing above it is finished.
  ASSERT_TRUE(Feed([&] {
    return Count(CallRecord::kHangs, victim.number) > 0 &&
           (death != Death::kBelowLaterWork || SomeMapIsNotEmpty() || SomebodyWasThoughtDead() ||
            IsCautious(victim.number));
  })) << LogOf(victim.number);
  const BootTime died = SystemClock::Instance().Boot();
  victim.process->Kill9();
  sights_.deaths[static_cast<size_t>(death)]++;
  NoteUnshown(victim.number, died);
  victim = Start();
  AwaitWork(victim);
}

void CrashStorm::JoinOne() {
  members_.push_back(Start());
  AwaitWork(members_.back());
  sights_.joined++;
}

void CrashStorm::LeaveOne() {
  Member& leaver = AnyMember();
  std::swap(leaver, members_.back());
  Member& last = members_.back();
  const size_t before = Count(CallRecord::kCalled, last.number);
  ASSERT_TRUE(Feed([&] { return Count(CallRecord::kCalled, last.number) > before; }))
      << LogOf(last.number);
  EXPECT_EQ(last.process->Terminate(seconds(20)), 0) << LogOf(last.number);
  members_.pop_back();
  sights_.left++;
}

void CrashStorm::KillTheBroker(KafkaBroker& kafka) {
  const size_t before = Calls().size();
  kafka.Kill9();
  kafka.Restart();
  ASSERT_TRUE(Feed([&] { return Calls().size() > before; })) << LogOf(members_.front().number);
  sights_.broker_deaths++;
}

// Right after the death: until its session is over, which began with a heartbeat of before, nobody
// else may begin there. A commit that is still under way makes the bound wider, never tighter.
void CrashStorm::NoteUnshown(uint32_t member, BootTime died) {
  std::map<int32_t, std::pair<int64_t, OffsetMap>> shown;
  for (const auto& [partition, commit] :
       KafkaAdmin(setup_.bootstrap).Committed(setup_.group, setup_.topic)) {
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    ASSERT_TRUE(metadata) << ToString(metadata.error());
    shown[partition] = {commit.offset, metadata->map};
  }
  too_late_ |= SystemClock::Instance().Boot() - died > options_.session * 2 / 3;
  for (const CallRecord& call : Calls()) {
    if (call.kind == CallRecord::kCalled && call.member == member) {
      const auto& [frontier, map] = shown[call.partition];
      unshown_ += call.offset >= frontier && !map.Contains(call.offset) ? 1 : 0;
    }
  }
}

void CrashStorm::End() {
  producer_.SendTheRest();
  EXPECT_TRUE(AllCommitted(setup_.bootstrap, setup_.group, setup_.topic, producer_.sent()));
  for (Member& member : members_) {
    EXPECT_EQ(member.process->Terminate(seconds(20)), 0) << LogOf(member.number);
  }
  Judge();
}

void CrashStorm::Judge() {
  const uint32_t ids = producer_.ids();
  const Totals totals =
      ExpectCommitsAddUp(setup_.bootstrap, setup_.group, setup_.topic, producer_.sent());
  EXPECT_EQ(totals.applied, ids) << "an offset counts once, over all owners";
  EXPECT_EQ(totals.suppressed, static_cast<int64_t>(producer_.sent() - ids));
  sights_.copies = totals.suppressed;
  JudgeTarget();
  JudgeCalls();
  if (::testing::Test::HasNonfatalFailure()) {
    StormSize size = size_;
    size.ids = ids;
    ExpectLogInOrder(setup_.bootstrap, setup_.topic, size);
  }
}

void CrashStorm::JudgeTarget() {
  StormSize size = size_;
  size.ids = producer_.ids();
  if (options_.window == MemberWindow::kAtomic) {
    ExpectLedger(dir_.path(), setup_.window, setup_.group, setup_.topic, size);
    return;
  }
  std::map<uint32_t, int> reported;
  for (const CallRecord& call : Calls()) {
    reported[call.id] += call.kind == CallRecord::kCalled && call.uncertain != 0 ? 1 : 0;
  }
  StormLog effects;
  std::map<uint32_t, int> times;
  for (const StoredEffect& effect : target_.All()) {
    const int again = times[effect.id]++;
    if (again == 0) {
      effects.Append(effect.id);
    } else {
      EXPECT_EQ(options_.window, MemberWindow::kOpaque) << "a guarded target has it twice";
      EXPECT_LE(again, reported[effect.id]) << "an effect came again, and nobody was told";
    }
  }
  effects.ExpectOnceAndInOrder(size);
}

void CrashStorm::JudgeCalls() {
  std::map<uint32_t, std::set<uint32_t>> callers;
  std::set<uint32_t> known;
  size_t called = 0;
  int64_t learned = 0;
  for (const CallRecord& call : Calls()) {
    if (call.kind == CallRecord::kCalled) {
      called++;
      callers[call.id].insert(call.member);
      sights_.reported += call.uncertain;
    }
    if (call.kind == CallRecord::kKnown) {
      known.insert(call.id);
    }
    learned += call.kind == CallRecord::kEnded ? call.offset : 0;
  }
  for (const CallRecord& call : Calls()) {
    if (call.kind == CallRecord::kHangs) {
      EXPECT_GT(callers[call.id].size(), 1u) << "nobody called again what died in a handler";
    }
  }
  const size_t again = called - callers.size();
  if (SomebodyWasThoughtDead()) {
    sights_.thought_dead++;
  } else if (!too_late_) {
    EXPECT_LE(again, unshown_) << "a handler was called again for what a commit had shown";
  }
  const auto stored_then_died =
      static_cast<size_t>(sights_.deaths[static_cast<size_t>(Death::kAfterTheEffect)]);
  if (options_.window == MemberWindow::kMemory || options_.window == MemberWindow::kGuarded) {
    EXPECT_GE(known.size(), stored_then_died) << "the target was never asked twice";
  }
  if (options_.window == MemberWindow::kMemory) {
    EXPECT_GT(learned, 0) << "no window was completed from the log";
  } else if (sights_.power_losses == 0) {
    EXPECT_EQ(learned, 0) << "on one host the stores know it all";
  }
  sights_.called_again = static_cast<int64_t>(again);
  ::testing::Test::RecordProperty("called_again", std::to_string(again));
  ::testing::Test::RecordProperty("not_shown_at_death", std::to_string(unshown_));
  ::testing::Test::RecordProperty("too_late_to_say", too_late_ ? "yes" : "no");
}

// A machine that was busy for longer than a session: the group went on without a member that lived,
// and what it had called is called again, beyond what the dead have left.
bool CrashStorm::SomebodyWasThoughtDead() const {
  for (uint32_t member = 0; member < started_; member++) {
    if (LogOf(member).find("\"assignment lost\"") != std::string::npos) {
      return true;
    }
  }
  return false;
}

bool CrashStorm::IsCautious(uint32_t member) const {
  return LogOf(member).find("processes have ended without progress here") != std::string::npos;
}

bool CrashStorm::Feed(const std::function<bool()>& condition) {
  fed_++;
  const uint64_t end = size_.open_end ? size_.ids : uint64_t{size_.ids} * fed_ / feeds_;
  const bool met = producer_.FeedUntil(static_cast<uint32_t>(end), condition);
  if (size_.in_shares) {
    producer_.SendUpTo(static_cast<uint32_t>(end));
  }
  return met;
}

const std::vector<CallRecord>& CrashStorm::Calls() {
  call_log_.ReadOn(calls_);
  return calls_;
}

size_t CrashStorm::Count(CallRecord::Kind kind, uint32_t member) {
  const auto& calls = Calls();
  return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), [&](const CallRecord& call) {
    return call.kind == kind && call.member == member;
  }));
}

bool CrashStorm::SomeMapIsNotEmpty() const {
  for (const auto& [partition, commit] :
       KafkaAdmin(setup_.bootstrap).Committed(setup_.group, setup_.topic)) {
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    if (metadata && !metadata->map.empty()) {
      return true;
    }
  }
  return false;
}

}  // namespace oncemq::testing
