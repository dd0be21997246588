// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_set>

#include "../surroundings.h"
#include "checker.h"
#include "cleaned.h"
#include "ledger.h"

namespace oncemq::sim {
namespace {

class Accounting final : public Checker {
 public:
  explicit Accounting(const Evidence& evidence)
      : Checker("I1 accounting", evidence), ledgers_(evidence.history) {}

  void See(const Record& record) override {
    ledgers_.See(record);
    cleaned_.See(record);
    switch (record.op) {
      case Op::kAdmit:
        recorded_[record.process].deliveries++;
        recorded_[record.process].open++;
        break;
      case Op::kSettle:
        Settle(record);
        break;
      case Op::kGone:
        if (!ledgers_.DeliveryFinished(record.delivery)) {
          recorded_[record.process].handed_back++;
          recorded_[record.process].open--;
        }
        break;
      case Op::kCounts:
        Compare(record);
        break;
      case Op::kCommit:
        Commit(record);
        break;
      default:
        break;
    }
  }

 private:
  void Settle(const Record& record) {
    DeliveryCounts& counts = recorded_[record.process];
    counts.handler_calls += (record.aux & kHandledBit) != 0;
    const DeliveryFate fate = FateOf(record);
    // One that stops its partition is handed back and counted all the same.
    counts.conflict +=
        (record.aux & kConflictBit) != 0 && (IsFinal(record) || fate == DeliveryFate::kStop);
    if (!IsFinal(record)) {
      return;
    }
    counts.open--;
    counts.applied += fate == DeliveryFate::kApplied;
    counts.suppressed += fate == DeliveryFate::kSuppressed || fate == DeliveryFate::kRestored;
    counts.rejected += fate == DeliveryFate::kRejected;
    counts.parked += fate == DeliveryFate::kParked;
    counts.repaired += fate == DeliveryFate::kRestored;
    counts.uncertain += record.flag;
    counts.attached += (record.aux & kAttachedBit) != 0;
    counts.unprotected += (record.aux & kUnprotectedBit) != 0;
    Passed(record, fate);
    counts.own_redelivery +=
        (record.aux & kSameDeliveryBit) != 0 || fate == DeliveryFate::kRestored;
    const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
    counts.stale += ledger == nullptr || ledger->epoch != record.epoch || ledger->ended;
  }

  // Applied without an id is unprotected, and nothing else is.
  void Passed(const Record& record, DeliveryFate fate) {
    const bool passed = fate == DeliveryFate::kApplied && Passes(evidence_.config, record.id);
    if (passed != ((record.aux & kUnprotectedBit) != 0)) {
      Broken("d" + std::to_string(record.delivery) + " is " + (passed ? "not " : "") +
             "called unprotected");
    }
  }

  void Compare(const Record& record) {
    const DeliveryCounts& said = evidence_.history.counts(record.value);
    const DeliveryCounts& recorded = recorded_[record.process];
    const auto same = [&](const char* name, int64_t a, int64_t b) {
      if (a != b) {
        Broken("I12 truth of telemetry",
               "counter `" + std::string(name) + "` of P" + std::to_string(record.process) +
                   " says " + std::to_string(a) + ", the history " + std::to_string(b));
      }
    };
    same("deliveries", said.deliveries, recorded.deliveries);
    same("applied", said.applied, recorded.applied);
    same("suppressed", said.suppressed, recorded.suppressed);
    same("parked", said.parked, recorded.parked);
    same("rejected", said.rejected, recorded.rejected);
    same("handed_back", said.handed_back, recorded.handed_back);
    same("open", said.open, recorded.open);
    same("uncertain", said.uncertain, recorded.uncertain);
    same("own_redelivery", said.own_redelivery, recorded.own_redelivery);
    same("attached", said.attached, recorded.attached);
    same("conflict", said.conflict, recorded.conflict);
    same("unprotected", said.unprotected, recorded.unprotected);
    same("repaired", said.repaired, recorded.repaired);
    same("stale", said.stale, recorded.stale);
    same("handler_calls", said.handler_calls, recorded.handler_calls);
    if (!said.Balanced()) {
      Broken("deliveries of P" + std::to_string(record.process) + " are not the sum of outcomes");
    }
  }

  void Commit(const Record& record) {
    const CommitFacts& commit = evidence_.history.commit(record.value);
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    const auto count = [&](int64_t from, int64_t to) {
      return log.Count(from, to) - cleaned_.CountBeforeReset(record.partition, from, to);
    };
    int64_t finished = count(commit.metadata.since, commit.offset);
    for (const auto& range : commit.metadata.map.ranges()) {
      finished += count(range.from, range.to);
    }
    if (commit.metadata.totals.sum() != finished) {
      Broken("totals of the commit are " + std::to_string(commit.metadata.totals.sum()) + ", but " +
             std::to_string(finished) + " offsets are finished by its offset and map");
    }
    if (record.phase == Phase::kInvoke) {
      CompareTotals(record, commit);
    }
  }

  // The totals are those of the commit before, and the first outcome of each offset finished since.
  void CompareTotals(const Record& record, const CommitFacts& commit) {
    const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
    if (ledger == nullptr) {
      return;
    }
    Totals wanted = ledger->base.totals;
    for (const auto& [offset, state] : ledger->offsets) {
      const bool covered = offset < commit.offset || commit.metadata.map.Contains(offset);
      if (!covered || ledger->Carried(offset) || !state.fate) {
        continue;
      }
      const bool suppressed = *state.fate == DeliveryFate::kSuppressed && !state.own_redelivery;
      wanted.applied += *state.fate == DeliveryFate::kApplied ||
                        (*state.fate == DeliveryFate::kSuppressed && state.own_redelivery);
      wanted.suppressed += suppressed;
      wanted.parked += *state.fate == DeliveryFate::kParked;
      wanted.rejected += *state.fate == DeliveryFate::kRejected;
    }
    if (!(wanted == commit.metadata.totals)) {
      Broken("totals of the commit say " + std::to_string(commit.metadata.totals.applied) +
             " applied, " + std::to_string(commit.metadata.totals.suppressed) + " suppressed, " +
             std::to_string(commit.metadata.totals.rejected) + " rejected; the history " +
             std::to_string(wanted.applied) + ", " + std::to_string(wanted.suppressed) + ", " +
             std::to_string(wanted.rejected));
    }
    CompareNotDone(*ledger, commit);
  }

  // What the map covers and the commit calls not done is what was refused or parked: all of it, and
  // nothing else.
  void CompareNotDone(const AssignmentLedger& ledger, const CommitFacts& commit) {
    const OffsetMap& not_done = commit.metadata.not_done;
    const auto refused = [&](int64_t offset) {
      const auto found = ledger.offsets.find(offset);
      const auto fate = found == ledger.offsets.end() ? std::nullopt : found->second.fate;
      return ledger.Carried(offset)
                 ? ledger.base.not_done.Contains(offset)
                 : fate == DeliveryFate::kRejected || fate == DeliveryFate::kParked;
    };
    for (const auto& range : commit.metadata.map.ranges()) {
      for (int64_t offset = range.from; offset < range.to; offset++) {
        if (refused(offset) != not_done.Contains(offset)) {
          Broken("offset " + std::to_string(offset) + " is " +
                 (not_done.Contains(offset) ? "called not done" : "not called not done") +
                 " in the map of a commit");
        }
      }
    }
  }

  Ledgers ledgers_;
  Cleaned cleaned_;
  std::map<ActorId, DeliveryCounts> recorded_;
};

}  // namespace

std::unique_ptr<Checker> MakeAccounting(const Evidence& evidence) {
  return std::make_unique<Accounting>(evidence);
}

}  // namespace oncemq::sim
