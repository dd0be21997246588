// SPDX-License-Identifier: Apache-2.0
// The switchboard and the locks under it, as they are, in a world of chance: three processes, two
// stores, a record; calls that are overtaken on their way, cut networks, lost replies, switches
// begun and called off by anybody. Nobody may believe what another one does, and the fences of a
// name never fall.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

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

constexpr milliseconds kLease{3'000};
constexpr milliseconds kConfigLease{1'000};
constexpr size_t kProcesses = 3;
constexpr std::array<const char*, 2> kStores{"a", "b"};

struct Held {
  LockAsk ask;
  BootTime until;  // believed
};

struct Process {
  std::shared_ptr<SwitchStoreView> view;
  std::array<std::shared_ptr<RemoteLocks>, 2> remotes;
  std::shared_ptr<SwitchedLocks> locks;
  std::vector<Held> held;
  std::optional<LockAsk> unanswered;  // asked again by the same token
  bool busy = false;                  // a call of it is under way
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
    options.longest = kLease;
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
      Ask(process);
    } else if (what < 45) {
      Extend(process);
    } else if (what < 52) {
      Free(process);
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

  void Ask(Process& process) {
    LockAsk ask{.name = rng_.Chance(300) ? "fenced" : "x",
                .token = {1, ++tokens_},
                .queue = false,
                .lease = kLease,
                .place = kLease,
                .who = "who"};
    ask.fenced = ask.name == "fenced";
    if (process.unanswered) {
      ask = *process.unanswered;
      seen_["asked again"]++;
    }
    const BootTime asked_at = clock_.Boot();
    const auto answer = process.locks->Ask(ask);
    process.unanswered.reset();
    if (!answer) {
      if (answer.error().effect == Effect::kUnknown) {
        process.unanswered = ask;
      }
      return;
    }
    if (answer->kind != LockAnswer::Kind::kGranted) {
      return;
    }
    const BootTime until = asked_at + kLease;
    if (until <= clock_.Boot()) {
      process.unanswered = ask;  // came too late to be relied on
      return;
    }
    Granted(ask, answer->fence);
    process.held.push_back({ask, until});
  }

  void Granted(const LockAsk& ask, const Fence& fence) {
    seen_[std::string("granted in ") + std::string(ModeNow())]++;
    // Of what is fenced, the old store and the new one may grant at a time: their targets decide.
    if (!fences_[std::string(ask.name)].insert(fence).second) {
      Wrong("two grants with one fence");
    }
    if (!ask.fenced && fence != *fences_["x"].rbegin()) {
      Wrong("a fence that is not greater, of epoch " + std::to_string(fence.epoch));
    }
    for (const Process& process : processes_) {
      for (const Held& other : process.held) {
        if (other.ask.name == ask.name && !ask.fenced && other.until > clock_.Boot()) {
          Wrong("two believe");
        }
      }
    }
  }

  void Extend(Process& process) {
    if (process.held.empty()) {
      return;
    }
    const size_t at = rng_.Below(process.held.size());
    const LockAsk ask = process.held[at].ask;
    const LockClaim claim{ask.name, ask.token, kLease};
    Extended answer{};
    const BootTime asked_at = clock_.Boot();
    const Status done = process.locks->Extend({&claim, 1}, {&answer, 1});
    Held& held = process.held[at];
    const bool lost = held.until <= clock_.Boot();  // a late answer revives nothing
    if (done && answer == Extended::kYes && !lost) {
      held.until = std::max(held.until, asked_at + kLease);
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
    const LockAsk ask = process.held.back().ask;
    process.held.pop_back();  // nothing is believed from the sending on
    const LockClaim claim{ask.name, ask.token};
    Freed answer{};
    seen_["freed"] += process.locks->Free({&claim, 1}, {&answer, 1}).has_value() ? 1 : 0;
  }

  void Switch(Process& process) {
    inside_board_ = true;
    const auto begun = process.locks->SwitchEngine("chance");
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
        "freed", "asked again"}) {
    EXPECT_GT(seen[what], 0) << what;
    RecordProperty(what, seen[what]);
  }
}

}  // namespace
}  // namespace oncemq::sim
