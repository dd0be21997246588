// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

namespace oncemq::sim {

bool AssignmentLedger::Finished(int64_t offset) const {
  if (Carried(offset)) {
    return true;
  }
  const auto found = offsets.find(offset);
  return found != offsets.end() && found->second.fate.has_value();
}

const AssignmentLedger* Ledgers::Find(ActorId process, int32_t partition) const {
  const auto found = ledgers_.find({process, partition});
  return found == ledgers_.end() ? nullptr : &found->second;
}

void Ledgers::See(const Record& record) {
  switch (record.op) {
    case Op::kAssign: {
      AssignmentLedger fresh;
      fresh.epoch = record.epoch;
      fresh.start = record.offset;
      fresh.base = history_.commit(record.value).metadata;
      ledgers_[{record.process, record.partition}] = std::move(fresh);
      break;
    }
    case Op::kLost:
    case Op::kGiveBack:
      if (auto& ledger = ledgers_[{record.process, record.partition}]; !ledger.ended) {
        ledger.ended = record.time;
      }
      break;
    case Op::kAdmit: {
      if (history_.delivery(record.delivery).redriven) {
        break;  // no commit waits for it
      }
      auto& ledger = ledgers_[{record.process, record.partition}];
      // What a rewound source delivers again is bounded by the credit, not by the span.
      if (ledger.offsets.try_emplace(record.offset, AssignmentLedger::Offset{record.delivery, {}})
              .second) {
        ledger.arrivals.push_back(record.delivery);
      }
      break;
    }
    case Op::kSettle: {
      auto& ledger = ledgers_[{record.process, record.partition}];
      if (!IsFinal(record)) {
        break;
      }
      finished_[record.delivery] = true;
      const bool redriven = history_.delivery(record.delivery).redriven;
      if (ledger.epoch != record.epoch || ledger.ended || redriven) {
        break;
      }
      auto& offset = ledger.offsets[record.offset];
      if (offset.first == record.delivery) {
        offset.fate = FateOf(record);
        offset.own_redelivery = (record.aux & kSameDeliveryBit) != 0;
      }
      while (ledger.lowest_open < ledger.arrivals.size() &&
             finished_.contains(ledger.arrivals[ledger.lowest_open])) {
        ledger.lowest_open++;
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace oncemq::sim
