// SPDX-License-Identifier: Apache-2.0
// Members that are processes, and are killed with -9 in the middle of a handler, again and again.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "guarded_target.h"
#include "member_process.h"
#include "storm.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

// What a death does before the kill.
enum class Death {
  kBeforeTheEffect,
  kAfterTheEffect,  // stored at the target, in no marker and in no commit
  kBelowLaterWork,  // the other keys go on until a commit shows finished offsets above the hung one
};
inline constexpr int kDeaths = 3;

// What the members remember in, and with it where their effects go.
enum class MemberWindow {
  kMemory,   // of each its own, dies with it; effects at a guarded target
  kGuarded,  // on the disk that all share; effects at a guarded target
  kAtomic,   // the same; effects in the stores
};

// Three members on one host; every death is followed by a new process. Expects in the end: every
// id's effect is at the target exactly once, each key in order; the durable verdict adds up; and no
// handler was called again for what a commit had shown. Thread safety: one thread, which stays (see
// Process).
class CrashStorm {
 public:
  CrashStorm(const std::string& bootstrap, const std::string& name, const StormSize& size,
             uint64_t seed, MemberWindow window = MemberWindow::kMemory);

  // Kills so many members, one after the other; deaths of each kind in turn.
  void Run(int kills);

 private:
  struct Member {
    uint32_t number = 0;
    std::unique_ptr<Process> process;
  };

  Member Start();
  // Lets a member hang in a handler, kills it, notes what no commit showed, starts another.
  void KillOne(Death death);
  void NoteUnshown(uint32_t member);
  void End();
  void Judge();
  void JudgeCalls();

  bool Feed(const std::function<bool()>& condition);
  const std::vector<CallRecord>& Calls();
  size_t Count(CallRecord::Kind kind, uint32_t member);
  bool SomeMapIsNotEmpty() const;
  std::string LogOf(uint32_t member) const { return LogOfMember(place_, member); }

  const StormSize size_;
  const MemberWindow window_;
  const TempDir dir_;
  const MemberPlace place_;
  std::mt19937_64 random_;
  StormProducer producer_;
  GuardedTarget target_;
  CallLog call_log_;
  std::vector<CallRecord> calls_;
  std::vector<Member> members_;
  uint32_t started_ = 0;
  uint32_t fed_ = 0;
  uint32_t feeds_ = 1;
  size_t unshown_ = 0;           // calls of dead members that no commit had shown when they died
  size_t stored_then_died_ = 0;  // deaths after the effect
};

}  // namespace oncemq::testing
