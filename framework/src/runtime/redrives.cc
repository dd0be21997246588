// SPDX-License-Identifier: Apache-2.0
#include "redrives.h"

#include <algorithm>

namespace oncemq {
namespace {

constexpr uint32_t kAtOnce = 256;

}  // namespace

bool Redrives::Known(PartitionId partition) {
  if (!poll_.options.core.parks) {
    return true;
  }
  known_.resize(std::max<size_t>(known_.size(), partition + 1));
  const uint32_t assignment = partitions_[partition].assignments;
  if (known_[partition] == assignment) {
    return true;
  }
  const PartitionStatus status = poll_.core.Status(partition);
  const auto parked = poll_.source->Parked(partition, status.owner_epoch, status.frontier);
  if (parked) {
    poll_.core.SetParked(partition, *parked);
    known_[partition] = assignment;
  }
  partitions_.Answered(partition, parked ? std::nullopt : std::optional(parked.error()));
  return parked.has_value();
}

bool Redrives::Admit(PartitionId partition) {
  const uint32_t most = std::min(poll_.core.Credit(partition), kAtOnce);
  if (!poll_.options.core.parks || most == 0) {
    return false;
  }
  arrivals_.clear();
  poll_.source->ReadRedriven(
      partition, most,
      [&](int64_t offset) { return poll_.core.Finished(partition, offset); }, arrivals_);
  poll_.core.AdmitRedriven(partition, arrivals_);
  return !arrivals_.empty();
}

}  // namespace oncemq
