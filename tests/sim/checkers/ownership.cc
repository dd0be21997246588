// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "checker.h"

namespace oncemq::sim {
namespace {

class Ownership final : public Checker {
 public:
  explicit Ownership(const Evidence& evidence)
      : Checker("I4 owner only", evidence), owners_(evidence.log.partitions.size(), kWorld) {}

  void See(const Record& record) override {
    if (IsReplay(record)) {
      return;  // it owns nothing and commits nothing
    }
    const Membership member{record.process, record.partition};
    switch (record.op) {
      case Op::kOwner:
        owners_[static_cast<size_t>(record.partition)] = record.process;
        break;
      case Op::kAssign:
        ended_.erase(member);
        outstanding_[member] = 0;
        break;
      case Op::kLost:
        ended_[member] = record.time;
        break;
      case Op::kRevoke:
        deadlines_[member] = record.value;
        break;
      case Op::kGiveBack:
        GiveBack(record, member);
        ended_[member] = record.time;
        break;
      case Op::kCommit:
        Commit(record, member);
        break;
      case Op::kAnswer:
        outstanding_[member]--;
        break;
      case Op::kAdmit:
        Confirmed(record, "admitted a message");
        break;
      case Op::kHandle:
        Handle(record, member);
        break;
      case Op::kSettle:
        if (IsFinal(record)) {
          done_.erase(record.delivery);
        } else if (StageOf(record) != Stage::kApplied) {
          done_.erase(record.delivery);
        }
        break;
      case Op::kEffect:
        evidence_.sometimes.Count(Situation::kZombieEffect, Owner(record) != record.process);
        break;
      case Op::kCrash:
        Forget(record.process);
        break;
      default:
        break;
    }
  }

 private:
  using Membership = std::pair<ActorId, int32_t>;

  ActorId Owner(const Record& record) const {
    return owners_[static_cast<size_t>(record.partition)];
  }
  static std::string Who(const Record& record) {
    return "P" + std::to_string(record.process) + " (p" + std::to_string(record.partition) +
           ", epoch " + std::to_string(record.epoch) + ")";
  }

  void Commit(const Record& record, const Membership& member) {
    const CommitMetadata& metadata = evidence_.history.commit(record.value).metadata;
    if (record.phase == Phase::kInvoke) {
      outstanding_[member]++;
      const auto ended = ended_.find(member);
      if (ended != ended_.end() && record.aux > ended->second) {
        Broken(Who(record) + " commits after it lost the partition or gave it back");
      }
      if (metadata.clean) {
        NamesWhatRuns(record, metadata);
      }
    } else if (record.phase == Phase::kOk) {
      // While nobody owns the partition nobody has begun from an older commit either.
      if (Owner(record) != record.process && Owner(record) != kWorld) {
        Broken(Who(record) + " committed, but P" + std::to_string(Owner(record)) + " is the owner");
      }
      confirmed_.insert({record.process, record.partition, record.epoch, metadata.owner_epoch});
    }
  }

  // Rule 21: what may still have its effect is named in the last commit.
  void NamesWhatRuns(const Record& record, const CommitMetadata& metadata) {
    const auto named = [&](uint32_t delivery) {
      const DeliveryFacts& facts = evidence_.history.delivery(delivery);
      return facts.process != record.process || facts.partition != record.partition ||
             facts.redriven ||  // no commit speaks of it
             std::find(metadata.abandoned.begin(), metadata.abandoned.end(), facts.offset) !=
                 metadata.abandoned.end();
    };
    for (const auto* deliveries : {&running_, &done_}) {
      for (const uint32_t delivery : *deliveries) {
        if (!named(delivery)) {
          Broken(Who(record) + " calls its end clean, but offset " +
                 std::to_string(evidence_.history.delivery(delivery).offset) + " is not settled");
          return;
        }
      }
    }
  }

  void GiveBack(const Record& record, const Membership& member) {
    if (record.flag) {
      return;  // leaving the group ends every commit under way
    }
    if (outstanding_[member] > 0) {
      Broken(Who(record) + " gives back while a commit is under way");
    }
    for (const uint32_t delivery : running_) {
      const DeliveryFacts& facts = evidence_.history.delivery(delivery);
      if (facts.process == record.process && facts.partition == record.partition &&
          facts.epoch == record.epoch && record.time < deadlines_[member]) {
        Broken(Who(record) + " gives back before the deadline although a handler runs");
      }
    }
  }

  void Handle(const Record& record, const Membership& member) {
    if (record.phase == Phase::kOk) {
      running_.erase(record.delivery);
      if (record.value == 0) {
        done_.insert(record.delivery);
      }
      return;
    }
    running_.insert(record.delivery);
    Confirmed(record, "starts a handler");
    if (Owner(record) != record.process) {
      Broken(Who(record) + " starts a handler, but P" + std::to_string(Owner(record)) +
             " is the owner (rule 10)");
    }
    if (ended_.contains(member)) {
      Broken(Who(record) + " starts a handler after it lost the partition or gave it back");
    }
  }

  // Rule 9: raise, confirm by an acknowledged commit, then act.
  void Confirmed(const Record& record, const char* act) {
    if (!confirmed_.contains(
            {record.process, record.partition, record.epoch, record.owner_epoch})) {
      Broken(Who(record) + " " + act + " under an ownership that no commit has confirmed");
    }
  }

  void Forget(ActorId process) {
    const auto of_process = [&](uint32_t delivery) {
      return evidence_.history.delivery(delivery).process == process;
    };
    std::erase_if(running_, of_process);
    std::erase_if(done_, of_process);
  }

  std::vector<ActorId> owners_;
  std::map<Membership, Micros> ended_;
  std::map<Membership, Micros> deadlines_;
  std::map<Membership, int> outstanding_;
  std::set<std::tuple<ActorId, int32_t, uint32_t, uint64_t>> confirmed_;
  std::set<uint32_t> running_;
  std::set<uint32_t> done_;  // the handler is through, its marker is not known to be there
};

}  // namespace

std::unique_ptr<Checker> MakeOwnership(const Evidence& evidence) {
  return std::make_unique<Ownership>(evidence);
}

}  // namespace oncemq::sim
