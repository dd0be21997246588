// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "../surroundings.h"
#include "checker.h"

namespace oncemq::sim {
namespace {

// Rule 11, for windows that do not go along with a partition: after an effect of an offset, in any
// process, each handler that is called for the offset is told. Copies of an id at other offsets are
// the business of the catch-up (I15).
class Repetitions final : public Checker {
 public:
  explicit Repetitions(const Evidence& evidence)
      : Checker("I2 a repetition is told", evidence),
        last_commits_(evidence.log.partitions.size(), -1) {}

  void See(const Record& record) override {
    const Config& config = evidence_.config;
    const bool in_process = PlacementOf(config) == Placement::kPerProcess;
    if (LevelOf(config) != Level::kOpaque || !(in_process || HasStores(config)) ||
        config.remember < kForgetsNothing) {
      return;  // shared markers are judged by id; a window that forgets cannot know
    }
    switch (record.op) {
      case Op::kHandle:
        if (record.phase == Phase::kInvoke) {
          Handle(record);
        }
        break;
      case Op::kEffect:
        if (record.phase == Phase::kOk && record.value == 0) {
          Effect(record);
        }
        break;
      case Op::kCommit:
        if (record.phase == Phase::kOk) {
          Commit(record);
        }
        break;
      case Op::kReset:
        if (record.offset < 0) {
          Forget(record.partition);  // without its commit the group knows of no former owner
        }
        break;
      case Op::kMoved:
        Forget(record.partition);  // an operator has taken the store's knowledge away
        break;
      case Op::kPower:
        if (record.value != 0 && config.sync == 0) {
          // As configured, claims were not synced: also those of calls whose effect lands later.
          effects_.clear();
          forgotten_ = gone_;
        }
        break;
      case Op::kCrash:
        gone_.insert(record.process);
        break;
      default:
        break;
    }
  }

 private:
  void Effect(const Record& record) {
    if (!behind_.contains(record.partition) && !forgotten_.contains(record.process) &&
        !Passes(evidence_.config, record.id)) {
      effects_.try_emplace({record.partition, record.offset}, record.process);
    }
  }

  void Handle(const Record& record) {
    const auto effect = effects_.find({record.partition, record.offset});
    if (effect == effects_.end()) {
      return;
    }
    if (!record.flag) {
      Broken("P" + std::to_string(record.process) + " handles offset " +
             std::to_string(record.offset) + " of p" + std::to_string(record.partition) +
             " again after an effect of P" + std::to_string(effect->second) + ", and is not told");
    }
    evidence_.sometimes.Count(Situation::kRepetitionReported, effect->second != record.process);
  }

  // A commit that lands after a later one takes the bound back with the frontier, until the next
  // one lands (docs/adr/0024).
  void Commit(const Record& record) {
    int64_t& last = last_commits_[static_cast<size_t>(record.partition)];
    if (record.value < last) {
      behind_.insert(record.partition);
      Forget(record.partition);
    } else {
      behind_.erase(record.partition);
    }
    last = std::max(last, record.value);
  }

  void Forget(int32_t partition) {
    std::erase_if(effects_, [&](const auto& effect) { return effect.first.first == partition; });
  }

  std::map<std::pair<int32_t, int64_t>, ActorId> effects_;  // the first one of each offset
  std::vector<int64_t> last_commits_;                       // that landed, by partition
  std::set<ActorId> gone_;                                  // processes that crashed
  std::set<ActorId> forgotten_;  // those of them whose claims a loss of power took
  std::set<int32_t> behind_;     // partitions whose last one was late
};

}  // namespace

std::unique_ptr<Checker> MakeRepetitions(const Evidence& evidence) {
  return std::make_unique<Repetitions>(evidence);
}

}  // namespace oncemq::sim
