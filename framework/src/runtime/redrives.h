// SPDX-License-Identifier: Apache-2.0
// Redrives, the poll loop's side of the park topics. An assignment begins with the messages in its
// topic. Commands bring some of them back into the core.
//
// **Thread safety:** belongs to the poll thread.
#pragma once

#include <vector>

#include "assigned_partitions.h"
#include "poll_state.h"

namespace oncemq {

class Redrives {
 public:
  Redrives(PollState& poll, AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  // Until its parked keys are known, nothing of a partition may be admitted.
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
