// SPDX-License-Identifier: Apache-2.0
#include "park_reader.h"

#include "broker_error.h"
#include "oncemq/framework/park.h"

namespace oncemq {

Result<TopicShape> ShapeOf(rd_kafka_t* client, const std::string& topic, milliseconds within) {
  const TopicPtr handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, handle.get(), &found, Millis(within));
  const MetadataPtr answer(found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "no broker answers");
  }
  if (found->topic_cnt != 1 || found->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    return Error{Code::kNotFound, Effect::kNone, "the topic " + topic + " does not exist"};
  }
  const rd_kafka_metadata_topic_t& of = found->topics[0];
  if (of.err != RD_KAFKA_RESP_ERR_NO_ERROR || of.partition_cnt == 0) {
    return BrokerError(of.err, "the topic " + topic + " is not ready");
  }
  return TopicShape{topic, of.partition_cnt, of.partitions[0].replica_cnt};
}

ParkReader::ParkReader(rd_kafka_t* client, const std::string& source, milliseconds within)
    : client_(client),
      topic_(ParkTopicOf(source)),
      within_(within),
      handle_(rd_kafka_topic_new(client, topic_.c_str(), nullptr)) {}

Result<bool> ParkReader::Read(int32_t partition, const Take& take) {
  int64_t begin = 0;
  int64_t end = 0;
  const auto marks = rd_kafka_query_watermark_offsets(client_, topic_.c_str(), partition, &begin,
                                                      &end, Millis(within_));
  if (marks != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(marks, "the end of " + topic_ + " is not known");
  }
  if (begin >= end) {
    return true;
  }
  if (rd_kafka_consume_start(handle_.get(), partition, begin) != 0) {
    return BrokerError(rd_kafka_last_error(), topic_ + " can't be read");
  }
  const Result<bool> all = ReadTo(partition, end, take);
  rd_kafka_consume_stop(handle_.get(), partition);
  return all;
}

Result<bool> ParkReader::ReadTo(int32_t partition, int64_t end, const Take& take) {
  BootTime until = BootNow() + within_;
  for (int64_t next = 0; next < end;) {
    const RecordPtr record(rd_kafka_consume(handle_.get(), partition, 100));
    if (record == nullptr) {
      if (BootNow() > until) {
        return Error{Code::kTimeout, Effect::kNone, topic_ + " can't be read: no broker answers"};
      }
      continue;
    }
    if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      return true;
    }
    if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(record->err, topic_ + " can't be read");
    }
    until = BootNow() + within_;
    next = record->offset + 1;
    if (!take(*record)) {
      return false;
    }
  }
  return true;
}

}  // namespace oncemq
