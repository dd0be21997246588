// SPDX-License-Identifier: Apache-2.0
#include "sim_target.h"

#include <algorithm>

#include "surroundings.h"

namespace oncemq::sim {

bool SimTarget::InstallFence(const DeliveryFacts& by, uint64_t owner_epoch) {
  uint64_t& fence = fences_[{by.partition, by.key}];
  const bool valid = owner_epoch >= fence;
  fence = std::max(fence, owner_epoch);
  return valid;
}

SimTarget::Reply SimTarget::Effect(uint32_t delivery, uint64_t owner_epoch) {
  const DeliveryFacts& by = history_.delivery(delivery);
  Reply reply = Reply::kAccepted;
  if (config_.fence != 0 && !InstallFence(by, owner_epoch)) {
    reply = Reply::kOldFence;
  } else if (LevelOf(config_) == Level::kGuarded && !Passes(config_, by.id) &&
             !known_.insert(by.id).second) {
    reply = Reply::kAlreadyDone;
  }
  history_.Append({.time = loop_.now(),
                   .process = by.process,
                   .op = Op::kEffect,
                   .phase = reply == Reply::kOldFence ? Phase::kFail : Phase::kOk,
                   .partition = by.partition,
                   .epoch = by.epoch,
                   .offset = by.offset,
                   .delivery = delivery,
                   .id = by.id,
                   .owner_epoch = owner_epoch,
                   .value = static_cast<int64_t>(reply)});
  return reply;
}

}  // namespace oncemq::sim
