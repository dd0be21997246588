// SPDX-License-Identifier: Apache-2.0
// Puts messages into a topic, fast, so that what a test is about doesn't wait for its input.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oncemq::testing {

// What to send. The bytes are copied by Send().
struct OutMessage {
  std::string_view topic;
  // -1: by the hash of the key, as the Java client does it.
  int32_t partition = -1;
  // Nothing: a null key.
  std::optional<std::string_view> key = std::nullopt;
  // Nothing: a null value, which deletes the key of a compacted topic.
  std::optional<std::string_view> value = std::nullopt;
  // In this order; a name may come twice. Nothing: a null value.
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> headers = {};
  // Milliseconds since 1970; 0: now.
  int64_t timestamp_ms = 0;
};

struct TestProducerOptions {
  // Not empty: a transactional producer; it fences an older one of the same name at once.
  std::string transactional_id = {};
  // Properties of librdkafka, added to or replacing ours.
  std::map<std::string, std::string> properties = {};
  // How long a transaction's call may take.
  std::chrono::milliseconds transaction_timeout = std::chrono::seconds(30);
};

// Outside transactions idempotence is off: a broker that dies may make duplicates, as in life.
// Failures are std::runtime_error with librdkafka's words.
//
// Thread safety: one thread at a time.
// Blocks: Send() while 1,000,000 messages or 1 GiB wait; the others as said.
class TestProducer {
 public:
  explicit TestProducer(const std::string& bootstrap, const TestProducerOptions& options = {});
  // What was not flushed is dropped.
  ~TestProducer();
  TestProducer(const TestProducer&) = delete;
  TestProducer& operator=(const TestProducer&) = delete;

  // The topic must exist: the first message to it asks the broker for its leaders.
  void Send(const OutMessage& message);

  // Returns when every message so far is acknowledged; throws when one was refused or time is over.
  void Flush(std::chrono::milliseconds timeout = std::chrono::seconds(30));

  void Begin();
  void Commit();
  void Abort();

  // Messages that the broker acknowledged. Those of an aborted transaction count when they were.
  std::size_t acknowledged() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oncemq::testing
