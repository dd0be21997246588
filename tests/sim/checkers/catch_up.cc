// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "../surroundings.h"
#include "checker.h"
#include "cleaned.h"

namespace oncemq::sim {
namespace {

// Rules 4 to 7 for a window that forgets with its process: what the commit called finished when the
// process took the partition over, is not handled again by it.
class CatchUpKnows final : public Checker {
 public:
  explicit CatchUpKnows(const Evidence& evidence)
      : Checker("I15 a taken-over window is complete", evidence) {}

  void See(const Record& record) override {
    const Config& config = evidence_.config;
    cleaned_.See(record);
    const bool in_process = PlacementOf(config) == Placement::kPerProcess;
    if (config.catch_up == 0 || !(in_process || HasStores(config)) || IsAtomic(config) ||
        config.remember < kForgetsNothing || config.remember_for > 0) {
      return;  // what a small window forgets again, I9 judges
    }
    if (record.op == Op::kAssign) {
      Assign(record);
    } else if (record.op == Op::kNotRead) {
      NotRead(record);
    } else if (record.op == Op::kCleaned && !MustKnowAll()) {
      // Somebody may be about to read it.
      std::erase_if(known_, [&](const auto& known) { return known.second == record.id; });
    } else if (record.op == Op::kHandle && record.phase == Phase::kInvoke &&
               known_.contains({record.process, record.id})) {
      Broken("P" + std::to_string(record.process) + " handles id " + std::to_string(record.id) +
             ", which was finished below its start");
    }
  }

 private:
  bool MustKnowAll() const {
    return HasStores(evidence_.config) && evidence_.config.run_incomplete == 0;
  }

  void Assign(const Record& record) {
    const CommitMetadata& metadata = evidence_.history.commit(record.value).metadata;
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    for (const LogRecord& one : log.records) {
      known_.erase({record.process, one.id});  // it may have been given back before it was read
    }
    if (metadata.totals.rejected > 0 || metadata.totals.parked > 0) {
      return;  // which ones, only a journal could tell
    }
    // Who goes on with what can be read knows that at least. Who was to stop where it does not
    // suffice, and started, knows all.
    const bool all = MustKnowAll();
    const int64_t from =
        all ? metadata.since
            : std::max({metadata.since, log.start, record.offset - evidence_.config.catch_up});
    for (size_t i = log.Find(from); i < log.records.size(); i++) {
      const int64_t offset = log.records[i].offset;
      if (offset >= record.offset) {
        break;
      }
      const bool may_miss =
          all ? cleaned_.GoneBeforeReset(record.partition, offset)
              : cleaned_.Gone(record.partition, offset) || not_read_.contains(log.records[i].id);
      if (!may_miss && !Passes(evidence_.config, log.records[i].id)) {
        known_.insert({record.process, log.records[i].id});
        evidence_.sometimes.Count(Situation::kCaughtUp);
      }
    }
  }

  void NotRead(const Record& record) {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    for (size_t i = log.Find(record.offset); i < log.Find(record.value); i++) {
      known_.erase({record.process, log.records[i].id});
      not_read_.insert(log.records[i].id);
    }
  }

  std::set<std::pair<ActorId, uint32_t>> known_;
  std::set<uint32_t> not_read_;  // by somebody, and what is passed over once stays so
  Cleaned cleaned_;
};

}  // namespace

std::unique_ptr<Checker> MakeCatchUp(const Evidence& evidence) {
  return std::make_unique<CatchUpKnows>(evidence);
}

}  // namespace oncemq::sim
