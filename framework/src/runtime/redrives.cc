// SPDX-License-Identifier: Apache-2.0
#include "redrives.h"

#include <algorithm>

namespace oncemq {
namespace {

constexpr uint32_t kAtOnce = 256;

}  // namespace

bool Redrives::Known(PartitionId partition) {
  ParkedSource* const source = poll_.source->parked();
  if (source == nullptr) {
    return true;
  }
  known_.resize(std::max<size_t>(known_.size(), partition + 1));
  const uint32_t assignment = partitions_[partition].assignments;
  if (known_[partition] == assignment) {
    return true;
  }
  const PartitionStatus status = poll_.core.Status(partition);
  const auto left = poll_.catch_up ? poll_.catch_up->LeftOf(partition) : std::nullopt;
  const auto parked = source->Begin(partition, status.owner_epoch,
                                    left ? left->from : status.frontier, status.frontier);
  if (parked) {
    poll_.core.SetParked(partition, *parked);
    if (left) {
      poll_.catch_up->PassRefused(partition, parked->offsets);
    }
    known_[partition] = assignment;
  }
  partitions_.Answered(partition, parked ? std::nullopt : std::optional(parked.error()));
  return parked.has_value();
}

bool Redrives::Admit(PartitionId partition) {
  ParkedSource* const source = poll_.source->parked();
  const uint32_t most = source == nullptr ? 0 : std::min(poll_.core.Credit(partition), kAtOnce);
  if (most == 0) {
    return false;
  }
  arrivals_.clear();
  const auto finished = [&](int64_t offset) { return poll_.core.Finished(partition, offset); };
  source->Read(partition, most, finished, arrivals_);
  poll_.core.AdmitRedriven(partition, arrivals_);
  return !arrivals_.empty();
}

}  // namespace oncemq
