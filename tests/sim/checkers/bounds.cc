// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "../sim_process.h"
#include "checker.h"
#include "ledger.h"

namespace oncemq::sim {
namespace {

class Bounds final : public Checker {
 public:
  explicit Bounds(const Evidence& evidence)
      : Checker("I10 bounded", evidence), ledgers_(evidence.history) {}

  void See(const Record& record) override {
    ledgers_.See(record);
    const Config& config = evidence_.config;
    if (record.op == Op::kAdmit) {
      const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
      largest_ = std::max<int64_t>(largest_, facts.bytes);
      ++held_[{record.process, record.partition}];
      const AssignmentLedger* ledger = ledgers_.Find(record.process, record.partition);
      const auto span = static_cast<int64_t>(ledger->arrivals.size() - ledger->lowest_open);
      AtMost("arrivals above the frontier", span, config.span);
      evidence_.sometimes.Count(Situation::kSpanExhausted, span == config.span);
    } else if (record.op == Op::kGone) {
      const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
      held_[{facts.process, facts.partition}]--;
    } else if (record.op == Op::kBounds && record.flag) {
      AtMost("unfinished messages of a partition",
             held_[{record.process, record.partition}] - record.value, config.partition_credit);
    } else if (record.op == Op::kBounds) {
      AtMost("unfinished messages", record.value, config.in_flight);
      // The credit is asked once a batch.
      AtMost("unfinished bytes", record.aux, config.in_flight_bytes + kMostAdmitted * largest_);
    }
  }

 private:
  void AtMost(const char* what, int64_t value, int64_t limit) {
    if (value > limit) {
      Broken(std::to_string(value) + " " + what + ", at most " + std::to_string(limit) +
             " are allowed");
    }
  }

  Ledgers ledgers_;
  std::map<std::pair<ActorId, int32_t>, int64_t> held_;
  int64_t largest_ = 0;
};

}  // namespace

std::unique_ptr<Checker> MakeBounds(const Evidence& evidence) {
  return std::make_unique<Bounds>(evidence);
}

}  // namespace oncemq::sim
