// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "checker.h"

namespace oncemq::sim {
namespace {

// Stores on one disk: what was finished when a commit was sent is known as long as it was
// configured, whoever died and whatever lost its power; and nobody's first delivery is too old
// (rules 22, 23, 27).
class StoreMemory final : public Checker {
 public:
  explicit StoreMemory(const Evidence& evidence)
      : Checker("I9 stores remember", evidence), stores_(evidence.log.partitions.size()) {}

  void See(const Record& record) override {
    const Config& config = evidence_.config;
    if (!HasStores(config) || config.hosts != 0) {
      return;
    }
    if (record.op == Op::kPower) {
      for (Store& store : stores_) {
        LosePower(store, record.value != 0);
      }
      return;
    }
    if (record.partition < 0) {
      return;
    }
    Store& store = stores_[static_cast<size_t>(record.partition)];
    const bool ok = record.phase == Phase::kOk;
    if (record.op == Op::kMoved) {
      store = {};
      store.moved = true;
      store.touched = true;
    } else if (record.op == Op::kRefused && !store.touched && config.sync != 0) {
      Broken("p" + std::to_string(record.partition) +
             " is refused, though nobody has touched its store or its commit");
    } else if (record.op == Op::kReset) {
      store.moved = store.touched = true;
    } else if (record.op == Op::kAssign && store.moved) {
      // An operator's word: what there was by then, somebody may have handled before.
      store.top = std::max(store.top, EndAt(record));
      store.moved = false;
    } else if (record.op == Op::kCommit && record.phase == Phase::kInvoke && config.sync != 0) {
      Sync(store);
    } else if (record.op == Op::kCommit && ok) {
      store.top = std::max(store.top, record.offset);
    } else if ((record.op == Op::kComplete || record.op == Op::kRestore) && ok &&
               record.value == 0) {
      Finished(store, record);
    } else if (record.op == Op::kClaim && ok) {
      Claimed(store, record);
    } else if (record.op == Op::kClaim && evidence_.history.delivery(record.delivery).redriven) {
      redriven_.insert(record.token);
    }
  }

 private:
  struct Store {
    std::map<uint32_t, Micros> synced;  // id -> latest stamp of a record that it was known for
    std::map<uint32_t, Micros> fresh;   // the same, later, and a power loss may take it
    int64_t top = 0;
    Micros newest = 0;     // stamp of what was finished
    bool moved = false;    // an operator has done something, and nothing has started since
    bool touched = false;  // ever
  };

  static void Sync(Store& store) {
    for (const auto& [id, stamp] : store.fresh) {
      store.synced.insert_or_assign(id, stamp);
    }
    store.fresh.clear();
  }

  static void LosePower(Store& store, bool lost) {
    if (!lost) {
      Sync(store);
    }
    store.fresh.clear();
  }

  const LogRecord& At(const Record& record) const {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    return log.records[log.Find(record.offset)];
  }

  int64_t EndAt(const Record& record) const {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    const auto later = std::find_if(log.records.begin(), log.records.end(),
                                    [&](const auto& one) { return one.appended > record.time; });
    return later == log.records.end() ? log.end : later->offset;
  }

  void Finished(Store& store, const Record& record) {
    store.newest = std::max(store.newest, At(record).stamp);
    Seen(store, record);
  }

  // From now on it is known for as long as this record needs it.
  void Seen(Store& store, const Record& record) {
    const Micros stamp = At(record).stamp;
    const auto known = store.synced.find(record.id);
    if (known == store.synced.end() || known->second < stamp) {
      Micros& fresh = store.fresh.try_emplace(record.id, stamp).first->second;
      fresh = std::max(fresh, stamp);
    }
  }

  // The latest record that finished the id, or came as its copy.
  static const Micros* LastSeen(const Store& store, uint32_t id) {
    const auto fresh = store.fresh.find(id);
    const auto synced = store.synced.find(id);
    if (fresh != store.fresh.end()) {
      return &fresh->second;
    }
    return synced == store.synced.end() ? nullptr : &synced->second;
  }

  void Claimed(Store& store, const Record& record) {
    const auto answer = static_cast<ClaimVerdict>(record.value);
    if (answer == ClaimVerdict::kOutsideWindow && record.offset >= store.top) {
      Broken("offset " + std::to_string(record.offset) + " of p" +
             std::to_string(record.partition) +
             " is refused as too old, though nobody can have handled it before (rule 23)");
    }
    const bool below = At(record).stamp < store.newest - evidence_.config.remember_for &&
                       evidence_.config.remember_for > 0 && record.offset >= store.top;
    evidence_.sometimes.Count(Situation::kFirstIsNeverOld,
                              below && answer == ClaimVerdict::kGranted);
    const Micros* known = LastSeen(store, record.id);
    if (known == nullptr) {
      return;
    }
    const Micros age = At(record).stamp - *known;
    const Micros window = evidence_.config.remember_for;
    // It has waited in its topic while the log went on, at most to the present.
    const Micros at_redrive = redriven_.contains(record.token) ? record.time - *known : age;
    const bool behind =
        window > 0 && (std::max(age, at_redrive) > window || evidence_.config.stamps > 0);
    if (answer == ClaimVerdict::kGranted && !behind) {
      Broken("id " + std::to_string(record.id) + " of p" + std::to_string(record.partition) +
             " is granted again, " + std::to_string(age / kMilli) +
             " ms of log time after it was finished");
    }
    evidence_.sometimes.Count(Situation::kFreshCopyKnown,
                              answer == ClaimVerdict::kDuplicate && window > 0 && age > 0);
    evidence_.sometimes.Count(Situation::kAgedCopyRan,
                              answer == ClaimVerdict::kGranted && age > window);
    if (answer == ClaimVerdict::kGranted) {
      store.synced.erase(record.id);
      store.fresh.erase(record.id);
    } else if (answer == ClaimVerdict::kDuplicate) {
      Seen(store, record);
    }
  }

  std::vector<Store> stores_;
  std::set<Token> redriven_;  // claims of such messages
};

}  // namespace

std::unique_ptr<Checker> MakeStoreMemory(const Evidence& evidence) {
  return std::make_unique<StoreMemory>(evidence);
}

}  // namespace oncemq::sim
