// SPDX-License-Identifier: Apache-2.0
// PartitionStarts: asks the broker what an assignment has to know (commit with metadata, bounds of
// the log, the start of a group without commits) and lets ResolveAssignment judge it (rules 5 and
// 9).
//
// Thread safety: none; belongs to the poll thread. Blocks: a few seconds at most, while brokers do
// not answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cleanup_policy.h"
#include "group_beginning.h"
#include "oncemq/framework/assignment.h"
#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

class PartitionStarts {
 public:
  // `beginning` outlives it; where it is not known yet, it is asked for when a start needs it.
  PartitionStarts(const RuntimeOptions& options, rd_kafka_t* client, GroupBeginning& beginning,
                  const CleanupPolicies& policies, const Clock& clock)
      : options_(options),
        client_(client),
        beginning_(beginning),
        policies_(policies),
        clock_(clock) {}

  // One answer for each name, in order. A transient error: ask again. kNotFound: ask again for a
  // while, the topic may be a new one. Others are incidents: the partition must not start.
  std::vector<Result<Assignment>> Query(std::span<const PartitionName> names);
  // Of the log of one partition; errors as above.
  Result<LogBounds> Bounds(const char* topic, int32_t partition);

 private:
  std::vector<std::optional<LogBounds>> BoundsOfAll(std::span<const PartitionName> names);
  Result<Assignment> Resolve(const rd_kafka_topic_partition_t& committed,
                             const std::optional<LogBounds>& known);
  Result<int64_t> TrueEnd(const char* topic, int32_t partition);
  Result<int64_t> FreshStart(const char* topic, int32_t partition, const LogBounds& log);
  Result<int64_t> OffsetAtTime(const char* topic, int32_t partition, const LogBounds& log);
  Result<uint64_t> Identity(const char* topic);

  const RuntimeOptions& options_;
  rd_kafka_t* const client_;
  GroupBeginning& beginning_;
  const CleanupPolicies& policies_;
  const Clock& clock_;
  std::string cluster_;
};

// When to ask anew after an answer that was not there. The asking blocks, for seconds where a
// broker is silent: the pause begins when it ends and is longer than it took, so that the
// partitions of the other brokers keep most of the thread.
BootTime RetryAt(BootTime began, BootTime ended);

}  // namespace oncemq
