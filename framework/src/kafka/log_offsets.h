// SPDX-License-Identifier: Apache-2.0
// Questions about several partitions at once. Each call blocks for `within` at most.
//
// **Thread safety:** any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "oncemq/base/result.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

// The offsets of a time, or of one of the logs' ends, in one round trip to each leader. One silent
// leader spoils the whole answer. rd_kafka_query_watermark_offsets() keeps no time-out, and waits
// for a minute and more with a dead leader.
Result<PartitionListPtr> OffsetsAt(rd_kafka_t* client, std::span<const PartitionName> names,
                                   int64_t time, milliseconds within);

// The commits of the client's group, with their metadata. With read_committed, librdkafka asks for
// stable offsets: those of no pending transaction.
Result<PartitionListPtr> CommittedOf(rd_kafka_t* client, std::span<const PartitionName> names,
                                     milliseconds within);

// The cluster's id, from a broker. kUnavailable: none answers.
Result<std::string> ClusterOf(rd_kafka_t* client, milliseconds within);

}  // namespace oncemq
