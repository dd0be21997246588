// SPDX-License-Identifier: Apache-2.0
// The consumer as users write it first: one message at a time, in a group, with librdkafka's
// defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace oncemq::testing {

struct PollLoopOptions {
  std::string bootstrap = {};
  std::string group = {};
  std::string topic = {};
  int64_t messages = 0;  // ends after so many
  // Each message waits for a commit of its own. False: the client commits every 5 s by itself.
  bool commit_each = false;
  // Called with the header `message-id` of each message.
  std::function<void(std::string_view id)> handle = {};
};

// Seconds from the first message to the last. Throws std::runtime_error with librdkafka's words, or
// when no message comes for a minute. Blocks until the messages are read.
double RunPollLoop(const PollLoopOptions& options);

}  // namespace oncemq::testing
