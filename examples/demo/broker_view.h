// SPDX-License-Identifier: Apache-2.0
// What the broker itself says at the end: where each log begins and ends, and what the group has
// committed. Reads without joining the group.
//
// Thread safety: one thread. Blocks: each call for a few seconds at most.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "verdict.h"

namespace oncemq::demo {

class BrokerView {
 public:
  static Result<std::unique_ptr<BrokerView>> Connect(const std::string& brokers,
                                                     const std::string& topic,
                                                     const std::string& group);
  virtual ~BrokerView() = default;

  virtual Result<PartitionEvidence> Read(int32_t partition) = 0;
};

}  // namespace oncemq::demo
