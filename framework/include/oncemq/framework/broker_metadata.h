// SPDX-License-Identifier: Apache-2.0
// A look at the brokers of a service, outside its group: nothing is committed, no topic is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct TopicMetadata {
  std::string name;
  int32_t partitions = 0;
  std::string wrong;  // in the client's words; empty: it is there
};

struct BrokerMetadata {
  int brokers = 0;            // of the cluster
  microseconds answer_in{0};  // to a question over a connection that is there
  std::vector<TopicMetadata> topics;
};

// Failure: kUnavailable and kTimeout where no broker answers within that time; kInvalid for a
// property that the client does not take.
//
// Thread safety: any thread. Blocks: for twice `within`, and 2 s for the client's own threads.
Result<BrokerMetadata> QueryMetadata(const RuntimeOptions& options, milliseconds within);

}  // namespace oncemq
