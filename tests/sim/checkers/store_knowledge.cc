// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "../surroundings.h"
#include "checker.h"
#include "cleaned.h"

namespace oncemq::sim {
namespace {

// A store says from where to where it knows its partition, and a later owner believes it (rules 26,
// 27). So each id in between that was finished has its row.
class StoreKnowledgeChecker final : public Checker {
 public:
  explicit StoreKnowledgeChecker(const Evidence& evidence)
      : Checker("I15 a store knows what it says", evidence) {}

  void See(const Record& record) override { cleaned_.See(record); }

  void End() override {
    if (!HasStores(evidence_.config) || evidence_.config.remember_for > 0) {
      return;  // what it has forgotten by age, I9 judges
    }
    const size_t partitions = evidence_.log.partitions.size();
    for (size_t i = 0; i < evidence_.stores->size(); i++) {
      Judge(static_cast<int32_t>(i % partitions), (*evidence_.stores)[i]);
    }
  }

 private:
  void Judge(int32_t partition, const StoreState& store) {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(partition)];
    for (size_t i = log.Find(store.from); i < log.records.size(); i++) {
      const LogRecord& record = log.records[i];
      if (record.offset >= store.to) {
        return;
      }
      const bool done = ScriptOf(evidence_.config, record.id).end == Script::End::kDone &&
                        !IsMalformed(evidence_.config, record.id) &&
                        !cleaned_.GoneBeforeReset(partition, record.offset);
      if (done && store.Find(evidence_.log.ids[record.id]) == nullptr) {
        Broken("a store says that it knows p" + std::to_string(partition) + " from " +
               std::to_string(store.from) + " to " + std::to_string(store.to) + ", and has no id " +
               std::to_string(record.id) + " of offset " + std::to_string(record.offset));
        return;
      }
    }
  }

  Cleaned cleaned_;
};

}  // namespace

std::unique_ptr<Checker> MakeStoreKnowledge(const Evidence& evidence) {
  return std::make_unique<StoreKnowledgeChecker>(evidence);
}

}  // namespace oncemq::sim
