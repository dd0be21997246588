// SPDX-License-Identifier: Apache-2.0
// What the broker itself says at the end: where each log begins and ends, what the group has
// committed, and how often each id stands in the log. Reads without joining the group.
// Thread safety: one thread. Blocks: each call for a few seconds at most.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "verdict.h"

namespace oncemq::demo {

// Records behind the first of each id.
struct Copies {
  int64_t count = 0;
  int64_t cents = 0;
};

class BrokerView {
 public:
  static Result<std::unique_ptr<BrokerView>> Connect(const std::string& brokers,
                                                     const std::string& topic,
                                                     const std::string& group);
  virtual ~BrokerView() = default;

  virtual Result<PartitionEvidence> Look(int32_t partition) = 0;

  // Reads the logs from their beginning, up to `messages` records in all.
  virtual Result<Copies> CountCopies(int partitions, int64_t messages) = 0;
};

}  // namespace oncemq::demo
