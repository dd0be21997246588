// SPDX-License-Identifier: Apache-2.0
// A world of contenders for one name: the product's state machines of acquiring and holding, its
// lock table as the store, a network that loses and delays, and clocks that do not agree. One
// thread, virtual time, no chance: what happens to the n-th call is said in advance.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "acquire_state.h"
#include "lease_state.h"
#include "lock_table.h"

namespace oncemq::sim {

// What happens to a call.
enum class Fate : unsigned char {
  kQuick,
  kRequestLost,  // the caller hears an error
  kReplyLost,    // it was done, and the caller hears an error
  kLateRequest,  // the caller hears an error, and much later it is done
  kSlowReply,    // the caller hears of it when half of its lease is over
  kLateReply,    // the caller is paused, and hears of it when its lease may be over
};
inline constexpr size_t kFates = 6;
// Of the first calls of each contender; the calls behind them are quick.
using Fates = std::vector<std::vector<Fate>>;

struct ContenderPlan {
  LockMode mode = LockMode::kExclusive;
  microseconds begins{0};
  microseconds holds{0};                 // then it releases
  std::optional<microseconds> gives_up;  // after so long
  int64_t ppm = 0;                       // how much faster its clock runs than the store's
};

struct LeaseStory {
  const char* name;
  std::vector<ContenderPlan> contenders;
  bool wakes = true;
  std::optional<microseconds> sealed;  // in another epoch than theirs: who has nothing gets nothing
};

// What the runs together have to reach.
enum class LeaseMoment : unsigned char {
  kGranted,
  kGaveUp,
  kLostByDeadline,
  kLateRenewal,
  kLateGrant,
  kOwedAndTakenBack,
  kQueuePositionKept,
  kWoken,
  kZombieRequest,
  kSealedInQueue,
  kLast = kSealedInQueue,
};

class LeaseWorld {
 public:
  LeaseWorld(const LeaseStory& story, Fates fates, std::set<LeaseMoment>& moments);
  // The first promise that was broken; empty if none was.
  std::string Run();

 private:
  struct Contender {
    ContenderPlan plan;
    Token token;
    std::optional<AcquireState> acquiring;
    std::optional<LeaseState> holding;
    Fence fence;
    std::vector<Fate> fates;  // the next one last
    bool calling = false;
    bool over = false;
    bool granted = false;
    bool refused = false;  // by the seal
    uint64_t waits = 0;    // the number of its present wait
    bool awaiting = false;
  };
  using Reply = std::function<void(bool arrived)>;

  void At(BootTime when, std::function<void()> what);
  BootTime LocalOf(const Contender& c) const { return LocalAt(c, now_); }
  static BootTime LocalAt(const Contender& c, BootTime real);
  BootTime RealAt(const Contender& c, BootTime local) const;
  void Call(Contender& c, std::function<void()> at_store, Reply reply);
  void Wake(const LockTable::Turns& turns);
  void Act(Contender& c);
  void Request(Contender& c, bool queue);
  void BeginHold(Contender& c);
  void Watch(Contender& c);
  void Renew(Contender& c);
  void EndHold(Contender& c);
  void Free(Contender& c, BootTime until);
  bool Mine(const Contender& c) const;
  void CheckExclusion();
  void Break(const std::string& promise);

  const LeaseStory& story_;
  const Fates fates_;
  std::set<LeaseMoment>& moments_;
  LockTable table_;
  std::vector<Contender> contenders_;
  std::map<std::pair<BootTime, uint64_t>, std::function<void()>> events_;
  BootTime now_{microseconds(1'000'000)};
  uint64_t order_ = 0;
  bool zombie_ = false;
  Fence last_fence_;
  std::string broken_;
};

}  // namespace oncemq::sim
