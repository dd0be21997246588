// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <vector>

#include "checker.h"

namespace oncemq::sim {
namespace {

class Liveness final : public Checker {
 public:
  explicit Liveness(const Evidence& evidence)
      : Checker("I11 liveness", evidence), committed_(evidence.log.partitions.size(), -1) {}

  void See(const Record& record) override {
    switch (record.op) {
      case Op::kCommit:
        if (record.phase == Phase::kOk) {
          committed_[static_cast<size_t>(record.partition)] = record.offset;
        }
        break;
      case Op::kStop:
      case Op::kReset:
        // A stopped partition keeps what it had not finished, and an operator may pass claims over.
        claims_may_stay_ = true;
        break;
      case Op::kComplete:
      case Op::kRestore:
        if (record.phase == Phase::kOk && record.value == 0) {
          finished_.insert(record.id);
        }
        break;
      case Op::kOpenClaim:
        // An id that was finished and forgotten may come again below the frontier, in a process
        // that dies with its claim: nobody else is owed that message.
        if (!claims_may_stay_ && !finished_.contains(record.id)) {
          Broken("the claim of id " + std::to_string(record.id) + " was never ended");
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
    if (drained_) {
      return;
    }
    std::string where;
    for (size_t p = 0; p < committed_.size(); p++) {
      where += " p" + std::to_string(p) + " at " + std::to_string(committed_[p]) + " of " +
               std::to_string(evidence_.log.partitions[p].end) + ";";
    }
    Broken("not drained after the faults had ended:" + where);
  }

 private:
  std::vector<int64_t> committed_;
  std::set<uint32_t> finished_;
  bool claims_may_stay_ = false;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Checker> MakeLiveness(const Evidence& evidence) {
  return std::make_unique<Liveness>(evidence);
}

}  // namespace oncemq::sim
