// SPDX-License-Identifier: Apache-2.0
// A Kafka broker inside this process, on a free port of the loopback interface: librdkafka's mock
// cluster. Other processes may connect. It needs no Java and keeps everything in memory.
//
// It is no real broker. It keeps 5 MiB or 100,000 batches per partition and drops the oldest
// without a word, so whoever uses it guards the volume. It refuses commits while members join,
// where a real one takes them. It knows no transactions, and its speed says nothing.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "oncemq/base/result.h"

namespace oncemq::demo {

class EmbeddedBroker {
 public:
  static constexpr int64_t kPartitionBytes = 5 << 20;
  static constexpr int64_t kPartitionMessages = 100'000;

  static Result<std::unique_ptr<EmbeddedBroker>> Start(const std::string& topic, int partitions);
  virtual ~EmbeddedBroker() = default;

  virtual std::string address() const = 0;  // host:port
};

}  // namespace oncemq::demo
