// SPDX-License-Identifier: Apache-2.0
#include "log_offsets.h"

#include "broker_error.h"

namespace oncemq {
namespace {

PartitionListPtr ListOf(std::span<const PartitionName> names, int64_t offset) {
  PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(names.size())));
  for (const PartitionName& name : names) {
    rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition)->offset =
        offset;
  }
  return list;
}

}  // namespace

Result<PartitionListPtr> OffsetsAt(rd_kafka_t* client, std::span<const PartitionName> names,
                                   int64_t time, milliseconds within) {
  PartitionListPtr list = ListOf(names, time);
  const auto code = rd_kafka_offsets_for_times(client, list.get(), Millis(within));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "an offset of the log is not known");
  }
  return list;
}

Result<PartitionListPtr> CommittedOf(rd_kafka_t* client, std::span<const PartitionName> names,
                                     milliseconds within) {
  PartitionListPtr list = ListOf(names, RD_KAFKA_OFFSET_INVALID);
  const auto code = rd_kafka_committed(client, list.get(), Millis(within));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "the committed offsets are not known");
  }
  return list;
}

Result<std::string> ClusterOf(rd_kafka_t* client, milliseconds within) {
  const TextPtr id(rd_kafka_clusterid(client, Millis(within)));
  if (id == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone, "the cluster's id is not known"};
  }
  return std::string(id.get());
}

}  // namespace oncemq
