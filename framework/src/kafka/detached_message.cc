// SPDX-License-Identifier: Apache-2.0
#include "detached_message.h"

#include <cstdint>
#include <cstring>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

struct HeaderSizes {
  // No message is as long.
  static constexpr uint32_t kNull = UINT32_MAX;
  uint32_t name = 0;
  uint32_t value = 0;
};
static_assert(sizeof(HeaderSizes) == 2 * sizeof(uint32_t), "as HeaderBytes() counts");

// Calls visit(MessageHeader) for each header of a copy, in order.
template <class Visit>
void ForEachCopied(std::string_view headers, Visit visit) {
  while (!headers.empty()) {
    HeaderSizes sizes;
    std::memcpy(&sizes, headers.data(), sizeof sizes);
    headers.remove_prefix(sizeof sizes);
    MessageHeader header{headers.substr(0, sizes.name), std::nullopt};
    headers.remove_prefix(sizes.name);
    if (sizes.value != HeaderSizes::kNull) {
      header.value = headers.substr(0, sizes.value);
      headers.remove_prefix(sizes.value);
    }
    visit(header);
  }
}

// They belong to the message. nullptr: it has none.
const rd_kafka_headers_t* HeadersOf(const rd_kafka_message_t* message) {
  rd_kafka_headers_t* headers = nullptr;
  return rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? headers
                                                                                   : nullptr;
}

}  // namespace

size_t HeaderBytes(const rd_kafka_headers_t* headers) {
  size_t bytes = 0;
  ForEachHeader(headers, [&](const MessageHeader& header) { bytes += HeaderBytes(header); });
  return bytes;
}

DetachedMessage::DetachedMessage(const rd_kafka_message_t* message, std::string_view topic,
                                 int32_t partition, int64_t offset, size_t headers)
    : partition_(partition),
      offset_(offset),
      timestamp_ms_(rd_kafka_message_timestamp(message, nullptr)),
      redriven_(headers != kAll) {
  const rd_kafka_headers_t* const all = HeadersOf(message);
  const auto for_each = [&](auto visit) {
    size_t left = headers;
    if (all != nullptr) {
      ForEachHeader(all, [&](const MessageHeader& header) {
        left > 0 ? visit(header) : void();
        left -= left > 0 ? 1 : 0;
      });
    }
  };
  size_t header_bytes = 0;
  for_each([&](const MessageHeader& header) { header_bytes += HeaderBytes(header); });
  size_ = topic.size() + message->key_len + message->len + header_bytes;
  block_.reset(new char[size_]);
  topic_ = Append(topic.data(), topic.size());
  if (message->key != nullptr) {
    key_ = Append(message->key, message->key_len);
  }
  if (message->payload != nullptr) {
    value_ = Append(message->payload, message->len);
  }
  headers_ = {block_.get() + used_, header_bytes};
  for_each([this](const MessageHeader& header) {
    const std::string_view value = header.value.value_or("");
    const HeaderSizes sizes{
        static_cast<uint32_t>(header.name.size()),
        header.value ? static_cast<uint32_t>(value.size()) : HeaderSizes::kNull};
    Append(&sizes, sizeof sizes);
    Append(header.name.data(), header.name.size());
    Append(value.data(), value.size());
  });
}

std::string_view DetachedMessage::Append(const void* data, size_t size) {
  ONCEMQ_CHECK(size <= size_ - used_, "a copy has room for all of its message");
  char* const at = block_.get() + used_;
  if (size > 0) {
    std::memcpy(at, data, size);
  }
  used_ += size;
  return {at, size};
}

std::optional<std::string_view> DetachedMessage::header(std::string_view name) const {
  std::optional<std::string_view> last;
  ForEachCopied(headers_, [&](const MessageHeader& header) {
    if (header.name == name) {
      last = header.value.value_or("");
    }
  });
  return last;
}

std::vector<MessageHeader> DetachedMessage::headers() const {
  std::vector<MessageHeader> all;
  ForEachCopied(headers_, [&](const MessageHeader& header) { all.push_back(header); });
  return all;
}

}  // namespace oncemq
