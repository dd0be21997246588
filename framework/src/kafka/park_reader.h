// SPDX-License-Identifier: Apache-2.0
// ParkReader: the records of a park topic up to its present end, for a tool.
//
//   ParkReader reader(client, "payments", seconds(10));
//   reader.Read(3, [&](const rd_kafka_message_t& record) { book.Apply(record, null_key); ... });
//
// **Failure:** kUnavailable, kTimeout where no broker answers.
//
// **Thread safety:** none.
#pragma once

#include <functional>
#include <string>

#include "oncemq/base/result.h"
#include "rdkafka_ptr.h"

namespace oncemq {

struct TopicShape {
  std::string topic;
  int partitions = 0;
  int replicas = 0;
};

// kNotFound: there is none.
Result<TopicShape> ShapeOf(rd_kafka_t* client, const std::string& topic, milliseconds within);

class ParkReader {
 public:
  using Take = std::function<bool(const rd_kafka_message_t&)>;

  // The client outlives it.
  ParkReader(rd_kafka_t* client, const std::string& source, milliseconds within);

  // One partition from its begin to its present end. False: `take` has seen enough.
  Result<bool> Read(int32_t partition, const Take& take);

 private:
  Result<bool> ReadTo(int32_t partition, int64_t end, const Take& take);

  rd_kafka_t* const client_;
  const std::string topic_;
  const milliseconds within_;
  const TopicPtr handle_;
};

}  // namespace oncemq
