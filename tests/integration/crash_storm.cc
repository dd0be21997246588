// SPDX-License-Identifier: Apache-2.0
#include "crash_storm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "ledger_rows.h"
#include "oncemq/framework/commit_metadata.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr int kMembers = 3;
constexpr const char* kWindows[] = {"memory", "guarded", "atomic"};

}  // namespace

CrashStorm::CrashStorm(const std::string& bootstrap, const std::string& name, const StormSize& size,
                       uint64_t seed, MemberWindow window)
    : size_(size),
      window_(window),
      place_{bootstrap, name + "-group", name, dir_.path(), kWindows[static_cast<size_t>(window)]},
      random_(seed),
      producer_(bootstrap, name, size),
      target_(dir_.path() / "target"),
      call_log_(dir_.path() / "calls") {
  KafkaAdmin(bootstrap).CreateTopic({.name = name, .partitions = size.partitions});
}

CrashStorm::Member CrashStorm::Start() {
  const uint32_t number = started_++;
  return {number, StartMember(place_, number)};
}

void CrashStorm::Run(int kills) {
  feeds_ = static_cast<uint32_t>(2 * kills + 2);
  while (members_.size() < kMembers) {
    members_.push_back(Start());
  }
  ASSERT_TRUE(Feed([&] {
    return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      return Count(CallRecord::kCalled, member.number) > 0;
    });
  })) << LogOf(0);
  for (int kill = 0; kill < kills && !::testing::Test::HasFatalFailure(); kill++) {
    KillOne(static_cast<Death>(kill % kDeaths));
  }
  if (!::testing::Test::HasFatalFailure()) {
    End();
  }
}

void CrashStorm::KillOne(Death death) {
  Member& victim = members_[random_() % members_.size()];
  ASSERT_TRUE(victim.process->Running()) << LogOf(victim.number);
  // The id is ours until the process is reaped.
  ::kill(victim.process->pid(), death == Death::kAfterTheEffect ? SIGUSR2 : SIGUSR1);
  ASSERT_TRUE(Feed([&] {
    return Count(CallRecord::kHangs, victim.number) > 0 &&
           (death != Death::kBelowLaterWork || SomeMapIsNotEmpty());
  })) << LogOf(victim.number);
  victim.process->Kill9();
  stored_then_died_ += death == Death::kAfterTheEffect ? 1 : 0;
  NoteUnshown(victim.number);
  victim = Start();
  const uint32_t next = victim.number;
  ASSERT_TRUE(Feed([&] { return Count(CallRecord::kCalled, next) > 0; })) << LogOf(next);
}

// Right after the death: until its session is over nobody else may begin there. A commit that is
// still under way makes the bound wider, never tighter.
void CrashStorm::NoteUnshown(uint32_t member) {
  std::map<int32_t, std::pair<int64_t, OffsetMap>> shown;
  for (const auto& [partition, commit] :
       KafkaAdmin(place_.bootstrap).Committed(place_.group, place_.topic)) {
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    ASSERT_TRUE(metadata) << ToString(metadata.error());
    shown[partition] = {commit.offset, metadata->map};
  }
  for (const CallRecord& call : Calls()) {
    if (call.kind == CallRecord::kCalled && call.member == member) {
      const auto& [frontier, map] = shown[call.partition];
      unshown_ += call.offset >= frontier && !map.Contains(call.offset) ? 1 : 0;
    }
  }
}

void CrashStorm::End() {
  producer_.SendTheRest();
  if (window_ != MemberWindow::kAtomic) {
    EXPECT_TRUE(Eventually(seconds(60), [&] { return target_.All().size() >= size_.ids; }));
  }
  EXPECT_TRUE(AllCommitted(place_.bootstrap, place_.group, place_.topic, producer_.sent()));
  for (Member& member : members_) {
    EXPECT_EQ(member.process->Terminate(seconds(20)), 0) << LogOf(member.number);
  }
  Judge();
}

void CrashStorm::Judge() {
  if (window_ == MemberWindow::kAtomic) {
    ExpectLedger(dir_.path(), "atomic", place_.group, place_.topic, size_);
  } else {
    StormLog effects;
    for (const StoredEffect& effect : target_.All()) {
      effects.Append(effect.id);
    }
    effects.ExpectOnceAndInOrder(size_);
  }
  const Totals totals =
      ExpectCommitsAddUp(place_.bootstrap, place_.group, place_.topic, producer_.sent());
  EXPECT_EQ(totals.applied, size_.ids) << "an offset counts once, over all owners";
  EXPECT_EQ(totals.suppressed, static_cast<int64_t>(producer_.sent() - size_.ids));

  JudgeCalls();
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
  EXPECT_LE(again, unshown_) << "a handler was called again for what a commit had shown";
  if (window_ != MemberWindow::kAtomic) {
    EXPECT_GE(known.size(), stored_then_died_) << "the target was never asked twice";
  }
  if (window_ == MemberWindow::kMemory) {
    EXPECT_GT(learned, 0) << "no window was completed from the log";
  } else {
    EXPECT_EQ(learned, 0) << "on one host the stores know it all";
  }
  ::testing::Test::RecordProperty("called_again", std::to_string(again));
  ::testing::Test::RecordProperty("not_shown_at_death", std::to_string(unshown_));
}

bool CrashStorm::Feed(const std::function<bool()>& condition) {
  fed_++;
  const uint64_t end = uint64_t{size_.ids} * fed_ / feeds_;
  return producer_.FeedUntil(static_cast<uint32_t>(end), condition);
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
       KafkaAdmin(place_.bootstrap).Committed(place_.group, place_.topic)) {
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    if (metadata && !metadata->map.empty()) {
      return true;
    }
  }
  return false;
}

}  // namespace oncemq::testing
