// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "../ledger_rows.h"
#include "../sim_store.h"
#include "../surroundings.h"
#include "checker.h"
#include "cleaned.h"

namespace oncemq::sim {
namespace {

// Level atomic: what the handlers wrote is in the stores of the partitions, and nothing else is
// asked: each id took effect once, debits and credits are those of the log, a row that is read and
// written has lost no change, and the last commit has counted them all.
class StoreLedger final : public Checker {
 public:
  explicit StoreLedger(const Evidence& evidence)
      : Checker("I6 ledger in the store", evidence),
        last_(evidence.log.partitions.size(), -1),
        passed_to_(evidence.log.partitions.size(), 0) {}

  void See(const Record& record) override {
    const auto p = static_cast<size_t>(record.partition);
    cleaned_.See(record);
    switch (record.op) {
      case Op::kCommit:
        if (record.phase == Phase::kOk) {
          last_[p] = record.value;
        }
        break;
      case Op::kReset:
        last_[p] = -1;
        moved_.insert(p);
        said_[p] = record.offset;
        if (record.flag) {
          passed_to_[p] = std::max(passed_to_[p], record.offset);  // an operator's word alone
        }
        break;
      case Op::kAssign:
        said_.erase(p);
        break;
      case Op::kMoved:
        moved_.insert(p);
        if (said_.contains(p)) {
          passed_to_[p] = std::max(passed_to_[p], said_[p]);  // likewise: the store is another now
        }
        break;
      case Op::kClaim:
        if (record.phase == Phase::kOk &&
            record.value == static_cast<int64_t>(ClaimVerdict::kOutsideWindow)) {
          too_old_.insert(record.id);  // whether it may be, another checker judges
        }
        break;
      case Op::kStop:
        stopped_ = true;
        break;
      case Op::kSettle:
        if ((record.aux & kAloneBit) != 0 && !spoiled_.insert(record.delivery).second) {
          Broken("d" + std::to_string(record.delivery) +
                 " lost its effects twice with those of others in its run");
        }
        break;
      case Op::kDrained:
        drained_ = true;
        break;
      default:
        break;
    }
  }

  void End() override {
    if (!IsAtomic(evidence_.config) || !HasStores(evidence_.config) || !drained_) {
      return;
    }
    for (size_t p = 0; p < evidence_.log.partitions.size(); p++) {
      JudgePartition(p, (*evidence_.stores)[p]);
    }
  }

 private:
  void JudgePartition(size_t p, const StoreState& store) {
    std::map<uint32_t, const LogRecord*> wanted;  // by id: its last record
    for (const LogRecord& record : evidence_.log.partitions[p].records) {
      const bool rejected = EndsRefused(evidence_.config, record.id);
      if (!rejected && !IsMalformed(evidence_.config, record.id)) {
        wanted[record.id] = &record;
      }
    }
    Sums sums;
    for (const auto& [id, record] : wanted) {
      JudgeId(p, *record, SumAt(store, EffectRow(id)), sums);
    }
    JudgeRows(p, store, sums);
    Count(p, sums.effects);
  }

  struct Sums {
    std::map<std::string, int64_t> rows;
    std::map<std::string, std::string> counts;
    std::map<int32_t, int64_t> keys;
    int64_t effects = 0;
  };

  void JudgeId(size_t p, const LogRecord& record, int64_t effects, Sums& sums) {
    const std::string who = "id " + std::to_string(record.id) + " of p" + std::to_string(p) +
                            " (last at " + std::to_string(record.offset) + ")";
    // An operator was told that what a power loss took cannot be handled again.
    const bool told = cleaned_.GoneBeforeReset(static_cast<int32_t>(p), record.offset);
    const bool may_miss =
        stopped_ || told || record.offset < passed_to_[p] || too_old_.contains(record.id);
    const bool may_repeat = evidence_.config.remember_for > 0;  // how late, another checker judges
    if (effects < 1 && !may_miss) {
      Broken(who + " is finished, and its effect is not in the store: it is lost");
    }
    if (effects > 1 && !may_repeat) {
      Broken(who + " took effect " + std::to_string(effects) + " times");
    }
    const Transfer transfer = TransferOf(record.id);
    sums.rows[AccountRow(transfer.from)] -= effects * transfer.amount;
    sums.rows[AccountRow(transfer.to)] += effects * transfer.amount;
    sums.effects += effects;
    if (CountsKey(evidence_.config, record.key)) {
      sums.keys[record.key] += effects;
    }
  }

  void JudgeRows(size_t p, const StoreState& store, const Sums& sums) {
    int64_t all = 0;
    for (const auto& [row, sum] : sums.rows) {
      all += SumAt(store, row);
      if (SumAt(store, row) != sum) {
        Broken("row " + row + " of p" + std::to_string(p) + " is " +
               std::to_string(SumAt(store, row)) + ", its effects make " + std::to_string(sum));
      }
    }
    if (all != 0) {
      Broken("debits and credits of p" + std::to_string(p) + " differ by " + std::to_string(all));
    }
    for (const auto& [key, count] : sums.keys) {
      const auto row = store.effects.find(KeyRow(key));
      const std::string is = row == store.effects.end() ? "0" : row->second;
      if (is != std::to_string(count)) {
        Broken("row " + KeyRow(key) + " of p" + std::to_string(p) + " counts " + is +
               " effects of " + std::to_string(count) + ": a change was lost");
      }
    }
  }

  // The verdict of the last commit, where nobody has moved anything.
  void Count(size_t p, int64_t effects) {
    if (last_[p] < 0 || stopped_ || moved_.contains(p) || evidence_.config.remember_for > 0) {
      return;
    }
    // A redriven message was parked, as far as the commit knows.
    const Totals& totals = evidence_.history.commit(last_[p]).metadata.totals;
    const auto redriven = Parks(evidence_.config) ? static_cast<int64_t>(totals.parked) : 0;
    if (effects < totals.applied || effects > totals.applied + redriven) {
      Broken("the last commit of p" + std::to_string(p) + " counts " +
             std::to_string(totals.applied) + " applied, the store has " + std::to_string(effects) +
             " effects");
    }
  }

  std::vector<int64_t> last_;       // commit
  std::vector<int64_t> passed_to_;  // by an operator, while no store knew anything
  std::map<size_t, int64_t> said_;  // by an operator; nothing has started from it yet
  std::set<uint32_t> too_old_;
  std::set<uint32_t> spoiled_;  // deliveries
  std::set<size_t> moved_;
  Cleaned cleaned_;
  bool stopped_ = false;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Checker> MakeStoreLedger(const Evidence& evidence) {
  return std::make_unique<StoreLedger>(evidence);
}

}  // namespace oncemq::sim
