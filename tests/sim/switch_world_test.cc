// SPDX-License-Identifier: Apache-2.0
// The switchboard and the locks under it, as they are, in a world of chance: three processes, two
// stores, a record; calls that are overtaken on their way, cut networks, lost replies, switches
// begun and called off by anybody; holders that are evicted, or asked for their name. Nobody may
// believe what another one does, but for readers, and as many as a limit allows; the fences of a
// name never fall; and who is asked for it hears of it.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "how_much.h"
#include "oncemq/locks/memory_locks.h"
#include "oncemq/locks/switched_locks.h"
#include "rng.h"
#include "support/remote_locks.h"
#include "support/switch_store.h"

namespace oncemq::sim {
namespace {

using testing::RemoteLocks;
using testing::SharedSwitchStore;
using testing::SwitchStoreView;

constexpr milliseconds kWorldLease{3'000};
constexpr milliseconds kConfigLease{1'000};
constexpr size_t kProcesses = 3;
constexpr std::array<const char*, 2> kStores{"a", "b"};
constexpr uint32_t kLimit = 2;
constexpr std::string_view kAlike = "whoever";

struct Held {
  AcquireRequest request;
  BootTime until;         // believed
  bool recalled = false;  // and has to hear of it
};

struct Process {
  std::shared_ptr<SwitchStoreView> view;
  std::array<std::shared_ptr<RemoteLocks>, 2> remotes;
  std::shared_ptr<SwitchedLocks> locks;
  std::vector<Held> held;
  std::optional<AcquireRequest> unanswered;  // asked again by the same token
  bool busy = false;                         // a call of it is under way
};

class SwitchWorld {
 public:
  explicit SwitchWorld(uint64_t seed) : rng_(seed, "switch") {
    for (const char* name : kStores) {
      stores_.push_back(MakeMemoryLocks({}, clock_));
      static_cast<void>(name);
    }
    for (Process& process : processes_) {
      Open(process);
    }
  }

  ~SwitchWorld() {
    inside_board_ = true;  // nothing happens any more, whatever a board has sealed at its end
    for (Process& process : processes_) {
      process.view->OnlyByTurns(false);
    }
  }

  // The first thing that went wrong; empty: nothing.
  const std::string& wrong() const { return wrong_; }
  const std::map<std::string, int>& seen() const { return seen_; }

  void Step() {
    const size_t who = rng_.Below(kProcesses);
    if (!processes_[who].busy) {
      Act(processes_[who]);
    }
  }

 private:
  void Open(Process& process) {
    process.view = std::make_shared<SwitchStoreView>(shared_);
    std::vector<NamedLocks> named;
    for (size_t i = 0; i < kStores.size(); i++) {
      const auto remote = std::make_shared<RemoteLocks>(stores_[i]);
      remote->on_its_way = [this] { Meanwhile(); };
      process.remotes[i] = remote;
      named.push_back({kStores[i], MemoryLockCapabilities(),
                       [remote] { return Result<std::shared_ptr<LockEngine>>(remote); }});
    }
    SwitchboardOptions options;
    options.config_lease = kConfigLease;
    options.longest = kWorldLease;
    options.automatic = false;
    options.aside = [](const std::function<void()>& call) { call(); };  // this is one thread
    inside_board_ = true;  // until its thread has gone around once, by itself
    auto locks = SwitchedLocks::Open(named, process.view, options, clock_);
    process.locks = *std::move(locks);
    process.view->OnlyByTurns(true);
    inside_board_ = false;
  }

  // What others do while a call is on its way.
  void Meanwhile() {
    if (inside_board_ || depth_ >= 2 || !rng_.Chance(250)) {
      return;
    }
    depth_++;
    Step();
    depth_--;
  }

  void Act(Process& process) {
    process.busy = true;
    const uint64_t what = rng_.Below(100);
    if (what < 25) {
      Request(process);
    } else if (what < 45) {
      Extend(process);
    } else if (what < 50) {
      Free(process);
    } else if (what < 51) {
      Evict(process);
    } else if (what < 52) {
      Recall(process);
    } else if (what < 72) {
      clock_.Advance(milliseconds(rng_.Below(rng_.Chance(50) ? 4'000 : 400)));
    } else if (what < 88) {
      Turn(process);
    } else if (what < 92) {
      Switch(process);
    } else if (what < 93) {
      inside_board_ = true;  // what it asks of the stores is on the board's business
      seen_["called off"] += process.locks->CallOff("chance").has_value() ? 1 : 0;
      inside_board_ = false;
    } else {
      Disturb(process);
    }
    process.busy = false;
  }

  void Turn(Process& process) {
    // The board's thread may seal a store: nothing else happens meanwhile, as this is one thread.
    inside_board_ = true;
    process.view->Turn();
    inside_board_ = false;
  }

  AcquireRequest NewRequest() {
    AcquireRequest request{.name = rng_.Chance(300) ? "fenced" : "x",
                           .token = {1, ++tokens_},
                           .queue = false,
                           .lease = kWorldLease,
                           .queue_lease = kWorldLease,
                           .who = kAlike};
    request.fenced = request.name == "fenced";
    if (!request.fenced && rng_.Chance(500)) {
      request.name = rng_.Chance(500) ? "read" : "counted";
      if (rng_.Chance(800)) {
        request.mode = request.name == "read" ? LockMode::kShared : LockMode::kCounted;
        request.limit = request.mode == LockMode::kCounted ? kLimit : 0;
      }
    }
    if (rng_.Chance(700)) {
      request.who = *names_of_requesters_.insert(std::to_string(tokens_)).first;
    }
    return request;
  }

  void Request(Process& process) {
    AcquireRequest request = NewRequest();
    if (process.unanswered) {
      request = *process.unanswered;
      seen_["asked again"]++;
    }
    const BootTime requested_at = clock_.Boot();
    const auto answer = process.locks->Request(request);
    process.unanswered.reset();
    if (!answer) {
      if (answer.error().effect == Effect::kUnknown) {
        process.unanswered = request;
      }
      return;
    }
    if (answer->kind != LockAnswer::Kind::kGranted) {
      return;
    }
    const BootTime until = requested_at + kWorldLease;
    if (until <= clock_.Boot()) {
      process.unanswered = request;  // came too late to be relied on
      return;
    }
    Granted(request, answer->fence);
    process.held.push_back({request, until});
  }

  void Granted(const AcquireRequest& request, const Fence& fence) {
    seen_[std::string("granted in ") + std::string(ModeNow())]++;
    // Of what is fenced, the old store and the new one may grant at a time: their targets decide.
    std::set<Fence>& fences = fences_[std::string(request.name)];
    if (!fences.insert(fence).second) {
      Wrong("two grants with one fence");
    }
    if (request.fenced || evicted_.contains(request.who)) {
      return;
    }
    // Those who share may hear of their grants in any order.
    if (request.mode == LockMode::kExclusive && fence != *fences.rbegin()) {
      Wrong("a fence that is not greater, of epoch " + std::to_string(fence.epoch));
    }
    uint32_t beside = 0;
    for (const AcquireRequest& other : Believers(request.name)) {
      beside++;
      if (other.mode != request.mode || request.mode == LockMode::kExclusive) {
        Wrong("two believe");
      }
    }
    if (request.mode == LockMode::kCounted && beside >= kLimit) {
      Wrong("more believe than may");
    }
    seen_[std::string(request.name) + " together"] += beside > 0 ? 1 : 0;
  }

  // Who was evicted may, until it hears of it.
  std::vector<AcquireRequest> Believers(std::string_view name) const {
    std::vector<AcquireRequest> believers;
    for (const Process& process : processes_) {
      for (const Held& held : process.held) {
        if (held.request.name == name && held.until > clock_.Boot() &&
            !evicted_.contains(held.request.who)) {
          believers.push_back(held.request);
        }
      }
    }
    return believers;
  }

  // One that can be told from the others: of whom else is it, nobody may be touched.
  void Evict(Process& process) {
    const char* name = rng_.Chance(500) ? "read" : "counted";
    const auto view = process.locks->Read(name);
    if (!view || view->parties.empty()) {
      return;
    }
    const LockView::Party party = view->parties[rng_.Below(view->parties.size())];
    if (party.who == kAlike) {
      return;
    }
    evicted_.insert(*names_of_requesters_.find(party.who));
    const auto freed = process.locks->Evict(name, party.fence);
    if (freed && *freed == Freed::kYes && view->parties.size() > 1) {
      seen_["evicted of several in " + std::string(ModeNow())]++;
    }
  }

  // What is held in a store that it takes to be drained is not asked for.
  void Recall(Process& process) {
    inside_board_ = true;
    const bool drains = process.locks->Progress().phase == SwitchMode::kDrain;
    inside_board_ = false;
    std::set<Token> held;
    for (const AcquireRequest& request : Believers("x")) {
      held.insert(request.token);
    }
    if (!process.locks->Recall("x") || drains) {
      return;
    }
    for (Process& each : processes_) {
      for (Held& one : each.held) {
        one.recalled = one.recalled || held.contains(one.request.token);
      }
    }
  }

  void Extend(Process& process) {
    if (process.held.empty()) {
      return;
    }
    const size_t at = rng_.Below(process.held.size());
    const AcquireRequest request = process.held[at].request;
    const LockClaim claim{request.name, request.token, kWorldLease};
    Extended answer{};
    const bool recalled = process.held[at].recalled;
    const BootTime requested_at = clock_.Boot();
    const Status done = process.locks->Extend({&claim, 1}, {&answer, 1});
    Held& held = process.held[at];
    const bool lost = held.until <= clock_.Boot();  // a late answer revives nothing
    if (done && answer == Extended::kYes && recalled) {
      Wrong("who was asked for the name does not hear of it");
    }
    if (done && (answer == Extended::kYes || answer == Extended::kRecalled) && !lost) {
      seen_["heard"] += recalled ? 1 : 0;
      held.recalled = held.recalled && answer != Extended::kRecalled;
      held.until = std::max(held.until, requested_at + kWorldLease);
      seen_[std::string("extended in ") + std::string(ModeNow())]++;
    }
    if (lost || (done && answer == Extended::kGone)) {
      seen_["lost"]++;
      process.held.erase(process.held.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void Free(Process& process) {
    if (process.held.empty()) {
      return;
    }
    const AcquireRequest request = process.held.back().request;
    process.held.pop_back();  // nothing is believed from the sending on
    const LockClaim claim{request.name, request.token};
    Freed answer{};
    seen_["freed"] += process.locks->Free({&claim, 1}, {&answer, 1}).has_value() ? 1 : 0;
  }

  void Switch(Process& process) {
    inside_board_ = true;
    const auto begun = process.locks->SwitchToNext("chance");
    inside_board_ = false;
    if (begun) {
      seen_[std::string("begun ") + std::string(ToString(begun->phase))]++;
    }
  }

  void Disturb(Process& process) {
    const uint64_t what = rng_.Below(6);
    if (what == 0) {
      process.view->Cut(true);
    } else if (what == 1) {
      RemoteLocks& remote = *process.remotes[rng_.Below(2)];
      remote.loses_replies = !remote.loses_replies;
    } else if (what == 2) {
      for (Process& each : processes_) {
        each.remotes[0]->cut = true;  // the store itself is gone
      }
    } else {
      process.view->Cut(false);
      for (Process& each : processes_) {
        each.remotes[0]->cut = false;
        each.remotes[1]->cut = false;
      }
    }
  }

  std::string_view ModeNow() {
    MutexLock lock(shared_->mutex);
    const auto record = ParseSwitchRecord(shared_->text.text);
    return record ? ToString(record->mode) : "nothing";
  }
  void Wrong(const std::string& what) {
    if (wrong_.empty()) {
      wrong_ = what;
    }
  }

  Rng rng_;
  ManualClock clock_;
  std::vector<std::shared_ptr<LockEngine>> stores_;
  const std::shared_ptr<SharedSwitchStore> shared_ = std::make_shared<SharedSwitchStore>();
  std::array<Process, kProcesses> processes_;
  std::map<std::string, std::set<Fence>> fences_;
  std::set<std::string, std::less<>> names_of_requesters_;
  std::set<std::string_view> evicted_;
  std::map<std::string, int> seen_;
  std::string wrong_;
  uint64_t tokens_ = 0;
  int depth_ = 0;
  std::atomic<bool> inside_board_{false};
};

TEST(SwitchWorld, NobodyBelievesWhatAnotherDoesThroughAnySwitch) {
  std::map<std::string, int> seen;
  const uint64_t worlds =
      FromEnvironment("ONCEMQ_SWITCH_WORLDS", 4'000 / static_cast<uint64_t>(OneOf()));
  for (uint64_t seed = 1; seed <= worlds; seed++) {
    SwitchWorld world(seed);
    for (int step = 0; step < 250; step++) {
      world.Step();
      ASSERT_EQ(world.wrong(), "") << "seed " << seed << ", step " << step;
    }
    for (const auto& [what, times] : world.seen()) {
      seen[what] += times;
    }
  }
  // A world in which nothing happens proves nothing.
  for (const char* what :
       {"granted in single", "granted in both", "granted in drain", "extended in single",
        "extended in both", "extended in drain", "begun both", "begun drain", "called off", "lost",
        "freed", "asked again", "read together", "counted together", "evicted of several in both",
        "heard"}) {
    EXPECT_GT(seen[what], 0) << what;
    RecordProperty(what, seen[what]);
  }
}

}  // namespace
}  // namespace oncemq::sim
