// SPDX-License-Identifier: Apache-2.0
// What a commit's answer means.
#pragma once

#include "oncemq/framework/core.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

// All but kAcknowledged and kUnknown: the broker has surely not stored it, and a repetition would
// not change that.
// `cooperative`: a member keeps its partitions while the group moves on to the next generation, so
// a commit that crosses this moment is refused although we are the owner.
CommitReply ReplyOf(rd_kafka_resp_err_t code, bool cooperative);

// Errors of one request, by partition. A request that failed as a whole carries no error per
// partition.
class CommitAnswers {
 public:
  // `list` may be nullptr, and is looked at while this object lives.
  CommitAnswers(rd_kafka_resp_err_t request, const rd_kafka_topic_partition_list_t* list);
  rd_kafka_resp_err_t Of(const PartitionName& name) const;

 private:
  const rd_kafka_resp_err_t request_;
  const rd_kafka_topic_partition_list_t* const list_;
  bool by_partition_ = false;
};

}  // namespace oncemq
