// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>

#include "checker.h"
#include "ledger.h"

namespace oncemq::sim {
namespace {

class Situations final : public Checker {
 public:
  explicit Situations(const Evidence& evidence)
      : Checker("situations", evidence), ledgers_(evidence.history) {}

  void See(const Record& record) override {
    switch (record.op) {
      case Op::kAdmit:
        Admit(record);
        break;
      case Op::kTake:
        running_[{record.process, record.id}]++;
        Count(Situation::kCarried, record.aux == static_cast<int64_t>(Stage::kCarried));
        Count(Situation::kCarriedNotDone, record.aux == static_cast<int64_t>(Stage::kNotDone));
        break;
      case Op::kSettle:
        running_[{record.process, record.id}]--;
        Count(Situation::kCopyWaited,
              FateOf(record) == DeliveryFate::kSuppressed && waited_.contains(record.delivery));
        break;
      case Op::kClaim:
        if (record.phase == Phase::kOk &&
            record.value == static_cast<int64_t>(ClaimVerdict::kGranted)) {
          Grant(record);
        }
        break;
      case Op::kRelease:
      case Op::kComplete:
      case Op::kPark:
        if (record.phase == Phase::kOk && record.value == 0) {
          holders_.erase(record.id);
        }
        break;
      case Op::kCommit:
        if (record.phase == Phase::kInvoke && evidence_.config.map_room < 4096) {
          FindCut(record);
        }
        break;
      default:
        break;
    }
    ledgers_.See(record);
  }

 private:
  void Count(Situation situation, bool when) { evidence_.sometimes.Count(situation, when); }

  void Admit(const Record& record) {
    if (evidence_.history.delivery(record.delivery).redriven) {
      return;
    }
    const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
    const bool again = ledger != nullptr && ledger->Seen(record.offset);
    Count(Situation::kRewound, again);
    Count(Situation::kRewoundUnfinished, again && !ledger->Finished(record.offset));
    if (running_[{record.process, record.id}] > 0) {
      waited_.insert(record.delivery);
    }
  }

  void Grant(const Record& record) {
    const auto before = holders_.find(record.id);
    if (before != holders_.end() && !(before->second.token == record.token)) {
      const Record& holder = before->second;
      const bool successor = holder.partition == record.partition &&
                             holder.offset == record.offset &&
                             holder.owner_epoch < record.owner_epoch;
      Count(successor ? Situation::kOwnerTakeover : Situation::kLeaseTakeover, true);
    }
    holders_[record.id] = record;
  }

  void FindCut(const Record& record) {
    const CommitFacts& commit = evidence_.history.commit(record.value);
    const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
    for (const auto& [offset, state] : ledger->offsets) {
      if (state.fate && offset > commit.offset && !commit.metadata.map.Contains(offset)) {
        Count(Situation::kMapCut, true);
        return;
      }
    }
  }

  Ledgers ledgers_;
  std::map<std::pair<ActorId, uint32_t>, int> running_;
  std::set<uint32_t> waited_;
  std::map<uint32_t, Record> holders_;
};

}  // namespace

std::unique_ptr<Checker> MakeSituations(const Evidence& evidence) {
  return std::make_unique<Situations>(evidence);
}

}  // namespace oncemq::sim
