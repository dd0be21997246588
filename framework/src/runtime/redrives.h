// SPDX-License-Identifier: Apache-2.0
// Redrives: the poll loop's side of the park topics. An assignment begins with what its topic has,
// and the messages that a command brings back go into the core.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <vector>

#include "assigned_partitions.h"
#include "poll_state.h"

namespace oncemq {

class Redrives {
 public:
  Redrives(PollState& poll, AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  // False: the parked keys of the partition are not known, and nothing of it may be admitted.
  bool Known(PartitionId partition);
  // True: it has admitted some.
  bool Admit(PartitionId partition);

 private:
  PollState& poll_;
  AssignedPartitions& partitions_;
  std::vector<uint32_t> known_;  // by partition: the number of the assignment
  std::vector<RedrivenArrival> arrivals_;
};

}  // namespace oncemq
