// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "../surroundings.h"
#include "checker.h"

namespace oncemq::sim {
namespace {

// A delivery has its id from the moment a worker takes it until it is settled, and beyond that
// while its outcome is owed. Only a copy in the same run may come along.
class RunningIds final : public Checker {
 public:
  explicit RunningIds(const Evidence& evidence) : Checker("one id at a time (rule 14)", evidence) {}

  void See(const Record& record) override {
    const bool has_id = record.id != kNone && !IsMalformed(evidence_.config, record.id);
    if (PlacementOf(evidence_.config) == Placement::kNone || (!has_id && record.op != Op::kGone)) {
      return;
    }
    const Id id{record.process, record.id};
    switch (record.op) {
      case Op::kTake:
        if (record.aux == static_cast<int64_t>(Stage::kNotDone)) {
          break;  // nobody does anything for it
        }
        for (const auto& [delivery, run] : holders_[id]) {
          if (delivery != record.delivery && run != record.value) {
            Broken("d" + std::to_string(record.delivery) + " was taken while d" +
                   std::to_string(delivery) + " with the same id was being worked on");
          }
        }
        holders_[id][record.delivery] = record.value;
        break;
      case Op::kSettle:
        if (IsFinal(record) || StageOf(record) != Stage::kApplied) {
          holders_[id].erase(record.delivery);
        } else {
          holders_[id][record.delivery] = kOwed;
        }
        break;
      case Op::kGone: {
        const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
        holders_[{facts.process, facts.id}].erase(record.delivery);
        break;
      }
      default:
        break;
    }
  }

 private:
  static constexpr int64_t kOwed = -1;
  using Id = std::pair<ActorId, uint32_t>;
  std::map<Id, std::map<uint32_t, int64_t>> holders_;  // delivery -> run
};

}  // namespace

std::unique_ptr<Checker> MakeRunningIds(const Evidence& evidence) {
  return std::make_unique<RunningIds>(evidence);
}

}  // namespace oncemq::sim
