// SPDX-License-Identifier: Apache-2.0
// Members that are processes, and are killed with -9 in the middle of a handler, again and again.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "guarded_target.h"
#include "member_process.h"
#include "oncemq/base/clock.h"
#include "storm.h"
#include "support/kafka_broker.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

// What a member does before it is killed.
enum class Death {
  kBeforeTheEffect,
  kAfterTheEffect,  // stored at the target, in no marker and in no commit
  kBelowLaterWork,  // the other keys go on until a commit shows finished offsets above the hung one
};
inline constexpr int kDeaths = 3;

// What the members remember in, and with it where their effects go.
enum class MemberWindow {
  kMemory,   // of each its own, dies with it; effects at a guarded target
  kOpaque,   // on the disk that all share; effects at a target that knows nothing again
  kGuarded,  // on the disk that all share; effects at a guarded target
  kAtomic,   // the same; effects in the stores
};

// What a storm does beside the deaths of its members.
struct CrashStormOptions {
  MemberWindow window = MemberWindow::kMemory;
  std::chrono::milliseconds session{4'000};  // what every death costs the group
};

// What has happened in storms: a test that is about them looks whether it did.
struct StormSights {
  int deaths[3] = {};     // by kind
  int left = 0;           // members that went in order, in the middle
  int joined = 0;         // and that came
  int broker_deaths = 0;  // kill -9
  int power_losses = 0;
  int thought_dead = 0;      // storms in which a member lived on beyond its session
  int64_t copies = 0;        // suppressed
  int64_t called_again = 0;  // handlers, for what died with a member
  int64_t reported = 0;      // of these, with the word that an earlier call may have had its effect

  void Add(const StormSights& more);
};

// Members on one host; every death is followed by a new process. Expects in the end: every id's
// effect is at the target, exactly once where the level promises it, and else each one that comes
// again after a call that was told so; each key in order; the durable verdict adds up; and no
// handler was called again for what a commit had shown. Begin, the acts in any order, End; or Run.
//
// Thread safety: one thread, which stays (see Process).
class CrashStorm {
 public:
  CrashStorm(const std::string& bootstrap, const std::string& name, const StormSize& size,
             uint64_t seed, const CrashStormOptions& options);

  // Three members; kills so many, one after the other, deaths of each kind in turn.
  void Run(int kills);

  // One member works alone, and dies with the power: what its stores had not synced is gone.
  void LoseThePower();
  // So many members, and each has something to do. `acts`: how many are to come.
  void Begin(size_t members, uint32_t acts);
  // Lets a member hang in a handler, kills it, notes what no commit showed, starts another.
  void KillOne(Death death);
  void JoinOne();
  void LeaveOne();
  void KillTheBroker(KafkaBroker& kafka);
  // Sends the rest, lets all members leave, and judges.
  void End();

  size_t members() const { return members_.size(); }
  const StormSights& sights() const { return sights_; }

 private:
  struct Member {
    uint32_t number = 0;
    std::unique_ptr<Process> process;
  };

  Member Start(std::map<std::string, std::string> environment = {});
  // Waits for its first call.
  void AwaitWork(const Member& member);
  Member& AnyMember();
  void NoteUnshown(uint32_t member, BootTime died);
  void Judge();
  void JudgeTarget();
  void JudgeCalls();

  bool Feed(const std::function<bool()>& condition);
  const std::vector<CallRecord>& Calls();
  size_t Count(CallRecord::Kind kind, uint32_t member);
  bool SomeMapIsNotEmpty() const;
  bool SomebodyWasThoughtDead() const;
  bool IsCautious(uint32_t member) const;
  std::string LogOf(uint32_t member) const { return LogOfMember(setup_, member); }

  const StormSize size_;
  const CrashStormOptions options_;
  const TempDir dir_;
  const MemberSetup setup_;
  std::mt19937_64 random_;
  StormProducer producer_;
  GuardedTarget target_;
  CallLog call_log_;
  std::vector<CallRecord> calls_;
  std::vector<Member> members_;
  uint32_t started_ = 0;
  uint32_t fed_ = 0;
  uint32_t feeds_ = 1;
  size_t unshown_ = 0;     // calls of dead members that no commit had shown when they died
  bool too_late_ = false;  // somebody else may have begun before that was looked at
  StormSights sights_;
};

}  // namespace oncemq::testing
