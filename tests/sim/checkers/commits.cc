// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>
#include <vector>

#include "checker.h"
#include "cleaned.h"
#include "ledger.h"

namespace oncemq::sim {
namespace {

class Commits final : public Checker {
 public:
  explicit Commits(const Evidence& evidence)
      : Checker("I3 commit safety", evidence),
        ledgers_(evidence.history),
        proved_(evidence.log.partitions.size()) {
    for (size_t p = 0; p < proved_.size(); p++) {
      proved_[p].resize(evidence.log.partitions[p].records.size(), false);
    }
  }

  void See(const Record& record) override {
    ledgers_.See(record);
    cleaned_.See(record);
    switch (record.op) {
      case Op::kEffect:
        if (record.phase == Phase::kOk) {
          settled_.insert(record.id);
        }
        break;
      case Op::kJournal:
        if (record.phase == Phase::kOk) {
          settled_.insert(record.id);
        }
        break;
      case Op::kCommit:
        if (record.phase == Phase::kInvoke) {
          PassesNothingOpen(record);
        } else if (record.phase == Phase::kOk) {
          PassesNoEffectless(record);
        }
        break;
      default:
        break;
    }
  }

 private:
  // Against what this assignment has finished.
  void PassesNothingOpen(const Record& record) {
    const CommitFacts& commit = evidence_.history.commit(record.value);
    const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
    if (ledger == nullptr || ledger->epoch != record.epoch) {
      Broken("a commit for a partition that the process does not have");
      return;
    }
    if (commit.offset < ledger->start) {
      Broken("a commit below the start of its assignment");
    }
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    for (size_t i = log.Find(ledger->start); i < log.records.size(); i++) {
      const int64_t offset = log.records[i].offset;
      const bool covered = offset < commit.offset || commit.metadata.map.Contains(offset);
      if (covered && !ledger->Finished(offset) && !cleaned_.Gone(record.partition, offset)) {
        Broken("the commit to " + std::to_string(commit.offset) + " calls offset " +
               std::to_string(offset) + " finished, which is not");
        return;
      }
    }
    for (const auto& range : commit.metadata.map.ranges()) {
      if (range.to > log.end) {
        Broken("the map reaches beyond the log");
      }
    }
  }

  // Against the truth: what a commit calls finished has its effect, or a record of its refusal.
  void PassesNoEffectless(const Record& record) {
    const CommitFacts& commit = evidence_.history.commit(record.value);
    const auto p = static_cast<size_t>(record.partition);
    const PartitionLog& log = evidence_.log.partitions[p];
    for (size_t i = log.Find(commit.metadata.since); i < log.records.size(); i++) {
      const LogRecord& message = log.records[i];
      const bool covered =
          message.offset < commit.offset || commit.metadata.map.Contains(message.offset);
      if (!covered || proved_[p][i] || cleaned_.GoneBeforeReset(record.partition, message.offset)) {
        continue;
      }
      proved_[p][i] = true;
      if (!settled_.contains(message.id)) {
        Broken("offset " + std::to_string(message.offset) + " (id " + std::to_string(message.id) +
               ") is committed, but neither its effect nor its refusal is on record: it is lost");
      }
    }
  }

  Ledgers ledgers_;
  Cleaned cleaned_;
  std::unordered_set<uint32_t> settled_;
  std::vector<std::vector<bool>> proved_;
};

}  // namespace

std::unique_ptr<Checker> MakeCommits(const Evidence& evidence) {
  return std::make_unique<Commits>(evidence);
}

}  // namespace oncemq::sim
