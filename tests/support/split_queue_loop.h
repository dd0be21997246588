// SPDX-License-Identifier: Apache-2.0
// The floor of every throughput figure: the shortest loop over split partition queues that reads
// one header of each message and commits as often, acknowledged, as the runtime does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace oncemq::testing {

struct SplitQueueLoopOptions {
  std::string bootstrap = {};
  std::string group = {};
  std::string topic = {};
  int32_t partitions = 8;
  int64_t messages = 0;  // ends after so many
  std::chrono::milliseconds commit_every{500};
};

struct SplitQueueLoopResult {
  double seconds = 0;          // from the first message to the last
  double process_seconds = 0;  // processor time of the process meanwhile
  int64_t commits = 0;
  int64_t header_bytes = 0;  // so that reading them is not optimised away
};

// Throws std::runtime_error with librdkafka's words. Blocks until the messages are read.
SplitQueueLoopResult RunSplitQueueLoop(const SplitQueueLoopOptions& options);

}  // namespace oncemq::testing
