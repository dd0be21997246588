// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "../surroundings.h"
#include "checker.h"

namespace oncemq::sim {
namespace {

// What is judged depends on what the window can know. Shared: all attempts of an id, by whichever
// process. In the process: the attempts of that process; what another one did before it is outside
// of its promise (rule 3). None: a second effect is nobody's fault.
class Effects final : public Checker {
 public:
  explicit Effects(const Evidence& evidence) : Checker("I2 at most one effect", evidence) {}

  void See(const Record& record) override {
    if (record.id != kNone && Passes(evidence_.config, record.id)) {
      return;  // at least once, and nothing can know more
    }
    switch (record.op) {
      case Op::kHandle:
        if (record.phase == Phase::kInvoke) {
          attempts_[Scope(record)].push_back({record.delivery, record.process, record.flag, false});
          if (IsReplay(record) && record.flag) {
            ended_uncertain_[Scope(record)] = true;  // a replay counts for itself
          }
        }
        break;
      case Op::kEffect:
        if (record.phase == Phase::kOk && record.value == 0) {
          Accept(record);
        }
        break;
      case Op::kComplete:
      case Op::kRestore:
        if (record.phase == Phase::kOk && record.value == 0) {
          done_.insert(Scope(record));
        }
        break;
      case Op::kClaim:
        // Behind the window an id begins anew; whether it was behind it, I9 judges.
        // Stores say so too after a power loss, when an effect of it exists.
        if (record.phase == Phase::kOk &&
            record.value == static_cast<int64_t>(ClaimVerdict::kGranted) &&
            !(HasStores(evidence_.config) && evidence_.config.remember_for == 0) &&
            done_.erase(Scope(record)) > 0) {
          attempts_.erase(Scope(record));
          ended_uncertain_.erase(Scope(record));
        }
        break;
      case Op::kSettle:
        if (IsFinal(record)) {
          ended_uncertain_[Scope(record)] |= record.flag;
        }
        break;
      case Op::kReset:
      case Op::kMoved:
        reset_ = true;
        if (HasStores(evidence_.config)) {
          attempts_.clear();  // an operator has taken the knowledge away, or passed it over
        }
        break;
      case Op::kPower:
        if (record.value != 0 && evidence_.config.sync == 0) {
          attempts_.clear();  // claims were not synced either, as configured
        }
        break;
      case Op::kCrash:
        gone_.insert(record.process);
        break;
      case Op::kDrained:
        drained_ = true;
        break;
      default:
        break;
    }
  }

  void End() override {
    if (PlacementOf(evidence_.config) == Placement::kNone) {
      return;
    }
    for (const auto& [scope, attempts] : attempts_) {
      JudgeAttempts(scope, attempts);
    }
  }

 private:
  struct Attempt {
    uint32_t delivery;
    ActorId process;
    bool reported;  // that an earlier attempt may have had its effect
    bool effect;
  };
  using ScopeKey = std::pair<ActorId, uint32_t>;  // (whose window, id)

  ScopeKey Scope(const Record& record) const {
    const bool one_disk = HasStores(evidence_.config) && evidence_.config.hosts == 0;
    const bool shared = PlacementOf(evidence_.config) == Placement::kShared || one_disk;
    return {shared ? kWorld : record.process, record.id};
  }

  void Accept(const Record& record) {
    auto& attempts = attempts_[Scope(record)];
    for (size_t i = attempts.size(); i-- > 0;) {
      if (attempts[i].delivery == record.delivery) {
        attempts[i].effect = true;
        break;
      }
    }
    if (LevelOf(evidence_.config) == Level::kGuarded && ++accepted_[record.id] > 1) {
      Broken("a guarded target took id " + std::to_string(record.id) + " twice");
    }
  }

  void JudgeAttempts(const ScopeKey& scope, const std::vector<Attempt>& attempts) {
    if (LevelOf(evidence_.config) != Level::kOpaque) {
      return;
    }
    int effects = 0;
    bool counter_lost =
        false;  // counters die with their process; the handler was told, that must do
    for (const Attempt& attempt : attempts) {
      if (effects > 0 && !attempt.reported) {
        Broken("id " + std::to_string(scope.second) + " was handled again by P" +
               std::to_string(attempt.process) + " (d" + std::to_string(attempt.delivery) +
               ") after an effect of it, and nobody counts it as uncertain");
        return;
      }
      effects += attempt.effect;
      counter_lost |= gone_.contains(attempt.process);
    }
    // A reset makes an operator responsible; before the end some delivery may still be on its way;
    // and what a process hands back, only a shared window tells the next one.
    const bool shared = PlacementOf(evidence_.config) == Placement::kShared;
    const bool judged = shared && drained_ && !reset_ && !counter_lost;
    const auto ended = ended_uncertain_.find(scope);
    if (effects > 1 && judged && ended != ended_uncertain_.end() && !ended->second) {
      Broken("id " + std::to_string(scope.second) + " has " + std::to_string(effects) +
             " effects, but no delivery of it ended as uncertain");
    }
  }

  std::map<ScopeKey, std::vector<Attempt>> attempts_;
  std::map<ScopeKey, bool>
      ended_uncertain_;  // ids that a delivery has ended for; true: as uncertain
  std::map<uint32_t, int> accepted_;
  std::set<ScopeKey> done_;
  std::set<ActorId> gone_;
  bool reset_ = false;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Checker> MakeEffects(const Evidence& evidence) {
  return std::make_unique<Effects>(evidence);
}

}  // namespace oncemq::sim
