// SPDX-License-Identifier: Apache-2.0
// What really is in a topic, read without any of our own code.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace oncemq::testing {

struct StoredMessage {
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::string>> headers;
  int64_t timestamp_ms = 0;
};

struct ReadOptions {
  // False shows messages of aborted and of open transactions too.
  bool committed_only = true;
  // First offset by partition; the log's start where a partition is not named.
  std::map<int32_t, int64_t> from = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

// Every message from the start to the end that each partition has when it is reached; by offset
// within a partition. Joins no group and commits nothing. Throws std::runtime_error when the topic
// doesn't exist or the end isn't reached in time.
//
// Thread safety: any thread.
// Blocks: for the time-out at most.
std::vector<StoredMessage> ReadTopic(const std::string& bootstrap, const std::string& topic,
                                     const ReadOptions& options = {});

}  // namespace oncemq::testing
