// SPDX-License-Identifier: Apache-2.0
// The messages of a replay, chosen once from the facts of broker and group. The set never grows.
//
// **Thread safety:** pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/framework/replay.h"

namespace oncemq {

struct ReplayPartition {
  std::string topic;
  int32_t partition = 0;
  int64_t log_start = 0;
  int64_t log_end = 0;
  std::optional<int64_t> committed;
  // The begin of the group's history. Nothing: the commit is not of this service.
  std::optional<int64_t> since;
  // The first records at the times of the request or later; the end of the log if there are none.
  std::optional<int64_t> at_since;
  std::optional<int64_t> at_until;
};

struct ReplayFacts {
  std::string cluster;
  std::string owner;  // as StoreOwner() gives it
  int64_t now_ms = 0;
  uint64_t random = 0;  // part of the replay's id
  // All partitions of the topics to be replayed, in the order of the set.
  std::vector<ReplayPartition> partitions;
  std::vector<std::string> notices;
};

// The topics of the request. kInvalid: it has no begin, names a topic that the service does not
// read, or offsets of more than one partition.
Result<std::vector<std::string>> ReplayTopics(const ReplayRequest& request,
                                              const std::vector<std::string>& of_service);

// kInvalid: a partition does not exist, or no message is left to replay.
Result<ReplaySet> FreezeSet(const ReplayRequest& request, ReplayFacts facts);

}  // namespace oncemq
