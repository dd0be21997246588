// SPDX-License-Identifier: Apache-2.0
#include "commit_reply.h"

namespace oncemq {

CommitReply ReplyOf(rd_kafka_resp_err_t code, bool cooperative) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      return CommitReply::kAcknowledged;
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
      return cooperative ? CommitReply::kUnknown : CommitReply::kRefused;
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
    case RD_KAFKA_RESP_ERR__FATAL:
      return CommitReply::kRefused;
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE:
      return CommitReply::kTooLarge;
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return CommitReply::kNotAllowed;
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      return CommitReply::kUnknownPartition;
    default:
      return CommitReply::kUnknown;
  }
}

CommitAnswers::CommitAnswers(rd_kafka_resp_err_t request,
                             const rd_kafka_topic_partition_list_t* list)
    : request_(request), list_(list) {
  for (int i = 0; list != nullptr && i < list->cnt; i++) {
    by_partition_ |= list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR;
  }
}

rd_kafka_resp_err_t CommitAnswers::Of(const PartitionName& name) const {
  if (list_ == nullptr || !by_partition_) {
    return request_;
  }
  for (int i = 0; i < list_->cnt; i++) {
    const rd_kafka_topic_partition_t& entry = list_->elems[i];
    if (entry.partition == name.partition && name.topic == entry.topic) {
      return entry.err;
    }
  }
  return RD_KAFKA_RESP_ERR__TIMED_OUT;  // not in the answer: nobody knows
}

}  // namespace oncemq
