// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "checker.h"
#include "park_record.h"

namespace oncemq::sim {
namespace {

// Rules 38 to 40: what a commit calls parked is in the topic, no message runs before an earlier one
// of its key that is there, and in the end nothing is.
class Parked final : public Checker {
 public:
  explicit Parked(const Evidence& evidence) : Checker("parked messages", evidence) {}

  void See(const Record& record) override {
    if (evidence_.config.park == 0) {
      return;
    }
    switch (record.op) {
      case Op::kJournal:
        if (record.phase == Phase::kOk && record.value != static_cast<int64_t>(ParkKind::kPassed)) {
          recorded_.insert({record.partition, record.offset});
          const int32_t key = evidence_.history.delivery(record.delivery).key;
          open_[{record.partition, key}].insert(record.offset);
        }
        break;
      case Op::kParkRecord:
        if (record.phase == Phase::kOk) {
          Note(record);
        }
        break;
      case Op::kHandle:
        if (record.phase == Phase::kInvoke) {
          Handle(record);
        }
        break;
      case Op::kEffect:
        if (record.phase == Phase::kOk) {
          done_.insert(record.id);
        }
        break;
      case Op::kSettle:
        Settle(record);
        break;
      case Op::kCommit:
        if (record.phase == Phase::kOk) {
          Commit(record);
        }
        break;
      case Op::kStop:
        stopped_ = true;
        break;
      case Op::kDrained:
        drained_ = true;
        break;
      default:
        break;
    }
  }

  void End() override {
    if (!drained_ || stopped_) {
      return;
    }
    for (const auto& [key, offsets] : open_) {
      if (!offsets.empty()) {
        Broken("offset " + std::to_string(*offsets.begin()) + " of p" + std::to_string(key.first) +
               " is still parked");
      }
    }
    for (const Place& place : recorded_) {
      if (!dropped_.contains(place) && !done_.contains(IdAt(place))) {
        Broken("offset " + std::to_string(place.second) + " of p" + std::to_string(place.first) +
               " was parked, and neither dropped nor done");
      }
    }
  }

 private:
  using Assignment = std::tuple<ActorId, int32_t, uint32_t>;
  using Place = std::pair<int32_t, int64_t>;  // partition and offset

  uint32_t IdAt(const Place& place) const {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(place.first)];
    return log.records[log.Find(place.second)].id;
  }

  void Note(const Record& record) {
    const Place place{record.partition, record.offset};
    const auto kind = static_cast<ParkKind>(record.value);
    if (kind == ParkKind::kDrop) {
      to_drop_.insert(place);
    } else if (kind == ParkKind::kDropped) {
      dropped_.insert(place);
      if (!to_drop_.contains(place)) {
        Broken("offset " + std::to_string(record.offset) + " of p" +
               std::to_string(record.partition) + " is dropped without a command");
      }
    }
    if (kind == ParkKind::kEnded || kind == ParkKind::kDropped) {
      const int32_t key = evidence_.history.delivery(record.delivery).key;
      open_[{record.partition, key}].erase(record.offset);
    }
  }

  void Handle(const Record& record) {
    const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
    const auto parked = open_.find({facts.partition, facts.key});
    evidence_.sometimes.Count(Situation::kRedriven, facts.redriven);
    if (OrderOf(evidence_.config) != Order::kKey || facts.key == kNoKey || parked == open_.end()) {
      return;
    }
    for (const int64_t offset : parked->second) {
      const bool done = done_.contains(IdAt({facts.partition, offset}));
      if (!facts.redriven && offset < facts.offset && !done) {
        Broken("offset " + std::to_string(facts.offset) + " of p" +
               std::to_string(facts.partition) + " is handled while " + std::to_string(offset) +
               " of its key is parked");
        return;
      }
    }
  }

  void Settle(const Record& record) {
    const bool attached = (record.aux & kAttachedBit) != 0;
    if (FateOf(record) == DeliveryFate::kParked && !attached) {
      passed_[{record.process, record.partition, record.epoch}].insert(record.offset);
    }
  }

  void Commit(const Record& record) {
    const CommitFacts& commit = evidence_.history.commit(record.value);
    for (const int64_t offset : passed_[{record.process, record.partition, record.epoch}]) {
      const bool covered = offset < commit.offset || commit.metadata.map.Contains(offset);
      if (covered && !recorded_.contains({record.partition, offset})) {
        Broken("offset " + std::to_string(offset) + " of p" + std::to_string(record.partition) +
               " is committed as parked, and no valid record has it: it is lost");
      }
    }
  }

  std::map<std::pair<int32_t, int32_t>, std::set<int64_t>> open_;  // by partition and key
  std::set<Place> recorded_;
  std::set<Place> to_drop_;
  std::set<Place> dropped_;
  std::map<Assignment, std::set<int64_t>> passed_;
  std::set<uint32_t> done_;  // ids with an effect: their record may be late
  bool stopped_ = false;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Checker> MakeParked(const Evidence& evidence) {
  return std::make_unique<Parked>(evidence);
}

}  // namespace oncemq::sim
