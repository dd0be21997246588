// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "checker.h"

namespace oncemq::sim {
namespace {

class Fences final : public Checker {
 public:
  explicit Fences(const Evidence& evidence) : Checker("I7 fences monotonic", evidence) {}

  void See(const Record& record) override {
    switch (record.op) {
      case Op::kAssign:
        terms_[{record.process, record.partition, record.epoch}] = record.term;
        break;
      case Op::kRaise:
        Raise(record);
        break;
      case Op::kClaim:
        if (record.phase == Phase::kOk &&
            record.value == static_cast<int64_t>(ClaimVerdict::kGranted)) {
          Claim(record);
        }
        break;
      case Op::kEffect:
        if (evidence_.config.fence != 0 && record.phase == Phase::kOk) {
          Effect(record);
        }
        break;
      default:
        break;
    }
  }

 private:
  bool Shared() const {
    return PlacementOf(evidence_.config) == Placement::kShared ||
           (HasStores(evidence_.config) && evidence_.config.hosts == 0);
  }

  void Raise(const Record& record) {
    if (record.phase == Phase::kOk && Shared()) {
      uint64_t& highest = raised_[record.partition];
      if (record.owner_epoch <= highest) {
        Broken("an ownership was issued that is not above all earlier ones");
      }
      highest = std::max(highest, record.owner_epoch);
    } else if (record.phase == Phase::kInfo) {
      // Which assignment acts under this ownership.
      const auto term = terms_.find({record.process, record.partition, record.epoch});
      if (term != terms_.end()) {
        acts_for_[{record.partition, record.owner_epoch}] = term->second;
      }
    }
  }

  void Claim(const Record& record) {
    const auto term = acts_for_.find({record.partition, record.owner_epoch});
    if (!Shared() || record.owner_epoch == 0 || term == acts_for_.end()) {
      return;
    }
    uint32_t& newest = newest_[record.partition];
    if (term->second < newest) {
      Broken("P" + std::to_string(record.process) + " of assignment " +
             std::to_string(term->second) + " was granted a claim after assignment " +
             std::to_string(newest) + " had begun to act");
    }
    newest = std::max(newest, term->second);
  }

  void Effect(const Record& record) {
    const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
    uint64_t& highest = accepted_[{facts.partition, facts.key}];
    if (record.owner_epoch < highest) {
      Broken("the target took an effect below the fence");
    }
    highest = std::max(highest, record.owner_epoch);
  }

  std::map<std::tuple<ActorId, int32_t, uint32_t>, uint32_t> terms_;
  std::map<std::pair<int32_t, uint64_t>, uint32_t> acts_for_;
  std::map<int32_t, uint64_t> raised_;
  std::map<int32_t, uint32_t> newest_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> accepted_;
};

}  // namespace

std::unique_ptr<Checker> MakeFences(const Evidence& evidence) {
  return std::make_unique<Fences>(evidence);
}

}  // namespace oncemq::sim
