// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>

#include "../surroundings.h"
#include "checker.h"
#include "park_record.h"

namespace oncemq::sim {
namespace {

// Each id is a transfer between two of a few accounts. At a guarded target every balance must be in
// the end what the log says, to the penny: nothing lost, nothing twice. A row is never booked
// twice.
class Bank final : public Checker {
 public:
  explicit Bank(const Evidence& evidence) : Checker("I6 bank", evidence) {}

  void See(const Record& record) override {
    switch (record.op) {
      case Op::kEffect:
        if (record.phase != Phase::kOk || record.value != 0) {
          break;
        }
        if (Passes(evidence_.config, record.id)) {
          passed_.insert(record.id);  // booked as often as it comes; once at least
        } else {
          Book(record.id, balances_);
          if (Guarded() && !rows_.insert(record.id).second) {
            Broken("transfer " + std::to_string(record.id) + " was booked twice");
          }
        }
        break;
      case Op::kParkRecord:
        if (record.value == static_cast<int64_t>(ParkKind::kDropped)) {
          dropped_.insert(record.id);
        }
        break;
      case Op::kStop:
      case Op::kReset:
        complete_ = false;  // a policy or an operator has left something out
        break;
      case Op::kDrained:
        drained_ = true;
        break;
      default:
        break;
    }
  }

  void End() override {
    if (!Guarded() || !drained_ || !complete_) {
      return;
    }
    std::map<uint32_t, int64_t> wanted;
    for (uint32_t id = 0; id < evidence_.log.ids.size(); id++) {
      const bool rejected = EndsRefused(evidence_.config, id);
      if (Passes(evidence_.config, id) && !rejected && !passed_.contains(id)) {
        Broken("transfer " + std::to_string(id) + ", which has no id, was never booked");
      }
      const bool given_up = dropped_.contains(id) && !rows_.contains(id);
      const bool refused = IsMalformed(evidence_.config, id) || rejected || given_up;
      if (!refused) {
        Book(id, wanted);
      }
    }
    for (const auto& [account, balance] : wanted) {
      if (balances_[account] != balance) {
        Broken("account " + std::to_string(account) + " has " + std::to_string(balances_[account]) +
               ", the log says " + std::to_string(balance));
      }
    }
  }

 private:
  static constexpr uint32_t kAccounts = 7;
  bool Guarded() const { return LevelOf(evidence_.config) == Level::kGuarded; }
  static void Book(uint32_t id, std::map<uint32_t, int64_t>& balances) {
    balances[id % kAccounts] -= id + 1;
    balances[(id / kAccounts + id + 1) % kAccounts] += id + 1;
  }

  std::map<uint32_t, int64_t> balances_;
  std::set<uint32_t> rows_;
  std::set<uint32_t> passed_;
  std::set<uint32_t> dropped_;
  bool complete_ = true;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Checker> MakeBank(const Evidence& evidence) {
  return std::make_unique<Bank>(evidence);
}

}  // namespace oncemq::sim
