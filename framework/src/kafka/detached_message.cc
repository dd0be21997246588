// SPDX-License-Identifier: Apache-2.0
#include "detached_message.h"

#include <cstdint>
#include <cstring>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

struct HeaderSizes {
  uint32_t name = 0;
  uint32_t value = 0;
};

// They belong to the message. nullptr: it has none.
const rd_kafka_headers_t* HeadersOf(const rd_kafka_message_t* message) {
  rd_kafka_headers_t* headers = nullptr;
  return rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? headers
                                                                                   : nullptr;
}

}  // namespace

size_t HeaderBytes(const rd_kafka_headers_t* headers) {
  size_t bytes = 0;
  ForEachHeader(headers, [&](std::string_view name, std::string_view value) {
    bytes += sizeof(HeaderSizes) + name.size() + value.size();
  });
  return bytes;
}

DetachedMessage::DetachedMessage(const rd_kafka_message_t* message)
    : partition_(message->partition),
      offset_(message->offset),
      timestamp_ms_(rd_kafka_message_timestamp(message, nullptr)) {
  const std::string_view topic = rd_kafka_topic_name(message->rkt);
  const rd_kafka_headers_t* const headers = HeadersOf(message);
  const size_t header_bytes = headers == nullptr ? 0 : HeaderBytes(headers);
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
  if (headers != nullptr) {
    ForEachHeader(headers, [this](std::string_view name, std::string_view value) {
      const HeaderSizes sizes{static_cast<uint32_t>(name.size()),
                              static_cast<uint32_t>(value.size())};
      Append(&sizes, sizeof sizes);
      Append(name.data(), name.size());
      Append(value.data(), value.size());
    });
  }
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
  for (std::string_view rest = headers_; !rest.empty();) {
    HeaderSizes sizes;
    std::memcpy(&sizes, rest.data(), sizeof sizes);
    rest.remove_prefix(sizeof sizes);
    if (rest.substr(0, sizes.name) == name) {
      last = rest.substr(sizes.name, sizes.value);
    }
    rest.remove_prefix(size_t{sizes.name} + sizes.value);
  }
  return last;
}

}  // namespace oncemq
