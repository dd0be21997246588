// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "../surroundings.h"
#include "checker.h"

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
    const bool in_process = PlacementOf(config) == Placement::kPerProcess;
    if (config.catch_up == 0 || !(in_process || HasStores(config)) || IsAtomic(config) ||
        config.remember < kForgetsNothing || config.remember_for > 0) {
      return;  // what a small window forgets again, I9 judges
    }
    if (record.op == Op::kAssign) {
      Assign(record);
    } else if (record.op == Op::kHandle && record.phase == Phase::kInvoke &&
               known_.contains({record.process, record.id})) {
      Broken("P" + std::to_string(record.process) + " handles id " + std::to_string(record.id) +
             ", which was finished below its start");
    }
  }

 private:
  void Assign(const Record& record) {
    const CommitMetadata& metadata = evidence_.history.commit(record.value).metadata;
    if (metadata.totals.rejected > 0 || metadata.totals.parked > 0) {
      return;  // which ones, only a journal could tell
    }
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    const int64_t from =
        std::max({metadata.since, log.start, record.offset - evidence_.config.catch_up});
    for (size_t i = log.Find(from); i < log.records.size(); i++) {
      if (log.records[i].offset >= record.offset) {
        break;
      }
      if (!Passes(evidence_.config, log.records[i].id)) {
        known_.insert({record.process, log.records[i].id});
        evidence_.sometimes.Count(Situation::kCaughtUp);
      }
    }
  }

  std::set<std::pair<ActorId, uint32_t>> known_;
};

}  // namespace

std::unique_ptr<Checker> MakeCatchUp(const Evidence& evidence) {
  return std::make_unique<CatchUpKnows>(evidence);
}

}  // namespace oncemq::sim
