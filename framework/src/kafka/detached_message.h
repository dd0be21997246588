// SPDX-License-Identifier: Apache-2.0
// DetachedMessage: a copy of one of librdkafka's messages, in one block of our own.
//
// librdkafka keeps a whole fetch response, up to fetch.max.bytes, for as long as one message of it
// is not destroyed. A message that waits is copied, and its response goes. A handler sees the same
// message.
//
// Memory: sizeof(DetachedMessage) and bytes().
//
// Thread safety: any thread; it does not change.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "oncemq/framework/handler.h"

namespace oncemq {

// Calls visit(MessageHeader) for each header, in order.
template <class Visit>
void ForEachHeader(const rd_kafka_headers_t* headers, Visit visit) {
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       i++) {
    MessageHeader header{name, std::nullopt};
    if (value != nullptr) {
      header.value = std::string_view(static_cast<const char*>(value), size);
    }
    visit(header);
  }
}

// Its name and value, and in a copy two sizes that tell them apart.
inline size_t HeaderBytes(const MessageHeader& header) {
  return 2 * sizeof(uint32_t) + header.name.size() + header.value.value_or("").size();
}
size_t HeaderBytes(const rd_kafka_headers_t* headers);

class DetachedMessage final : public Message {
 public:
  explicit DetachedMessage(const rd_kafka_message_t* message)
      : DetachedMessage(message, rd_kafka_topic_name(message->rkt), message->partition,
                        message->offset) {}
  // A record of a park topic as its message, with the first headers.
  DetachedMessage(const rd_kafka_message_t* record, std::string_view topic, int32_t partition,
                  int64_t offset, size_t headers = kAll);

  std::string_view topic() const override { return topic_; }
  int32_t partition() const override { return partition_; }
  int64_t offset() const override { return offset_; }
  int64_t timestamp_ms() const override { return timestamp_ms_; }
  std::optional<std::string_view> key() const override { return key_; }
  std::optional<std::string_view> value() const override { return value_; }
  std::optional<std::string_view> header(std::string_view name) const override;
  std::vector<MessageHeader> headers() const override;

  bool redriven() const { return redriven_; }
  // Of topic, key, value and headers.
  size_t bytes() const { return size_; }

 private:
  static constexpr size_t kAll = SIZE_MAX;
  std::string_view Append(const void* data, size_t size);

  size_t size_ = 0;
  std::unique_ptr<char[]> block_;  // all views show parts of it
  size_t used_ = 0;
  std::string_view topic_;
  std::optional<std::string_view> key_;
  std::optional<std::string_view> value_;
  std::string_view headers_;  // of each: two sizes, name, value
  int32_t partition_;
  int64_t offset_;
  int64_t timestamp_ms_;
  bool redriven_;
};

}  // namespace oncemq
