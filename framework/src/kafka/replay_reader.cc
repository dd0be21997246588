// SPDX-License-Identifier: Apache-2.0
#include "replay_reader.h"

#include <algorithm>
#include <utility>

#include "broker_error.h"

namespace oncemq {

ReplayReader::ReplayReader(rd_kafka_t* client, const ReplayRange& range, int64_t next)
    : name_(range.topic + " [" + std::to_string(range.partition) + "]"),
      topic_(rd_kafka_topic_new(client, range.topic.c_str(), nullptr)),
      partition_(range.partition),
      to_(range.to),
      queue_(rd_kafka_queue_new(client)),
      next_(next) {}

ReplayReader::~ReplayReader() {
  if (begun_) {
    rd_kafka_consume_stop(topic_.get(), partition_);
  }
}

Status ReplayReader::Begin() {
  begun_ = rd_kafka_consume_start_queue(topic_.get(), partition_, next_, queue_.get()) == 0;
  return begun_ ? Status() : Failed(rd_kafka_last_error());
}

Status ReplayReader::Read(size_t most, milliseconds within, std::vector<RecordPtr>& records) {
  if (!begun_) {
    if (const Status begun = Begin(); !begun) {
      return begun;
    }
  }
  batch_.resize(most);
  const ssize_t count =
      rd_kafka_consume_batch_queue(queue_.get(), Millis(within), batch_.data(), most);
  if (count < 0) {
    return Failed(rd_kafka_last_error());
  }
  batch_.resize(static_cast<size_t>(count));
  Status all;
  for (rd_kafka_message_t* const raw : batch_) {
    RecordPtr record(raw);
    if (all) {
      all = Take(std::move(record), records);
    }
  }
  return all;
}

Status ReplayReader::Take(RecordPtr record, std::vector<RecordPtr>& records) {
  if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    next_ = std::max(next_, std::min(record->offset, to_));  // the rest is no messages
  } else if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return FetchGoesOn(record->err) ? Status() : Failed(record->err);
  } else if (record->offset >= to_) {
    next_ = to_;
  } else {
    next_ = record->offset + 1;
    records.push_back(std::move(record));
  }
  return {};
}

Error ReplayReader::Failed(rd_kafka_resp_err_t code) const {
  if (code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
      code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    return {Code::kNotFound, Effect::kNone,
            name_ + " lacks records of the replay, from offset " + std::to_string(next_) +
                " on: they are gone from the log"};
  }
  return BrokerError(code, name_ + " can't be read");
}

}  // namespace oncemq
