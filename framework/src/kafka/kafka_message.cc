// SPDX-License-Identifier: Apache-2.0
#include "kafka_message.h"

#include <algorithm>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr size_t kLongestId = 1024;
constexpr uint32_t kOverhead = 256;  // of librdkafka and ours, beside key and value

std::string_view Bytes(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

std::optional<std::string_view> PayloadOf(const rd_kafka_message_t* message) {
  return message->payload == nullptr ? std::nullopt
                                     : std::optional(Bytes(message->payload, message->len));
}

class KafkaMessage final : public Message {
 public:
  void Point(const rd_kafka_message_t* raw) { raw_ = raw; }

  std::string_view topic() const override { return rd_kafka_topic_name(raw_->rkt); }
  int32_t partition() const override { return raw_->partition; }
  int64_t offset() const override { return raw_->offset; }
  int64_t timestamp_ms() const override { return rd_kafka_message_timestamp(raw_, nullptr); }
  std::optional<std::string_view> key() const override {
    return raw_->key == nullptr ? std::nullopt : std::optional(Bytes(raw_->key, raw_->key_len));
  }
  std::optional<std::string_view> value() const override { return PayloadOf(raw_); }
  std::optional<std::string_view> header(std::string_view name) const override {
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    if (rd_kafka_message_headers(raw_, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        rd_kafka_header_get_last(headers, std::string(name).c_str(), &value, &size) !=
            RD_KAFKA_RESP_ERR_NO_ERROR) {
      return std::nullopt;
    }
    return Bytes(value == nullptr ? "" : value, size);
  }

 private:
  const rd_kafka_message_t* raw_ = nullptr;
};

class KafkaView final : public MessageView {
 public:
  explicit KafkaView(MessageForm form) : form_(form) {}
  const Message& Show(void* message) override {
    message_.Point(RawMessage(form_, message));
    return message_;
  }

 private:
  const MessageForm form_;
  KafkaMessage message_;
};

}  // namespace

uint32_t FingerprintOf(std::optional<std::string_view> payload) {
  constexpr uint32_t kTombstone = 0x746F6D62;
  if (!payload) {
    return kTombstone;
  }
  const auto low = static_cast<uint32_t>(StableHash(*payload));
  return low != 0 ? low : 1;
}

MessageReader::MessageReader(const RuntimeOptions& options, const IdNeeds& needs)
    : from_(options.id_from),
      header_(options.id_header),
      needs_(needs),
      // An id made of coordinates has no copies but redeliveries.
      fingerprints_(needs.window && options.conflicts == ConflictPolicy::kDetect &&
                    from_ != IdFrom::kCoordinates),
      form_(needs.window && from_ != IdFrom::kKey ? MessageForm::kHeld : MessageForm::kPlain) {}

void MessageReader::Read(rd_kafka_message_t* message, Arrival& arrival) {
  arrival.message = message;
  arrival.offset = message->offset;
  arrival.bytes = static_cast<uint32_t>(message->len + message->key_len) + kOverhead;
  arrival.key_hash =
      message->key == nullptr ? 0 : ProcessHash(Bytes(message->key, message->key_len));
  if (!needs_.window) {
    return;
  }
  if (needs_.times) {
    const int64_t stamp = rd_kafka_message_timestamp(message, nullptr);
    arrival.time = stamp < 0 ? kNoLogTime : LogTime(milliseconds(stamp));
  }
  switch (from_) {
    case IdFrom::kHeader:
      ReadHeaderId(message, arrival);
      break;
    case IdFrom::kKey:
      arrival.id = Bytes(message->key, message->key == nullptr ? 0 : message->key_len);
      Judge(arrival);
      break;
    case IdFrom::kCoordinates:
      MakeCoordinateId(message, arrival);
      break;
  }
  if (arrival.refusal == nullptr) {
    arrival.id_hash = ProcessHash(arrival.id);
    if (fingerprints_) {
      arrival.fingerprint = FingerprintOf(PayloadOf(message));
    }
  } else {
    arrival.id = {};
  }
}

void MessageReader::Judge(Arrival& arrival) const {
  if (arrival.id.empty()) {
    arrival.refusal = "the message has no id";
  } else if (arrival.id.size() > std::min(needs_.max_bytes, kLongestId)) {
    arrival.refusal = "the id is longer than the window takes";
    arrival.id = {};
  }
}

void MessageReader::ReadHeaderId(rd_kafka_message_t* message, Arrival& arrival) {
  rd_kafka_headers_t* headers = nullptr;
  // Detached, so that they can be freed now; the message parses them again if a handler asks.
  if (rd_kafka_message_detach_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const void* value = nullptr;
    size_t size = 0;
    if (rd_kafka_header_get_last(headers, header_.c_str(), &value, &size) ==
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      arrival.id = Bytes(value, size);
    }
  }
  Judge(arrival);
  arrival.message = pool_.Take(message, arrival.id);
  if (headers != nullptr) {
    rd_kafka_headers_destroy(headers);
  }
}

// Read from the right, two numbers and the rest: one text for one place, whatever a topic is
// called.
void MessageReader::MakeCoordinateId(rd_kafka_message_t* message, Arrival& arrival) {
  const std::string id = std::string(rd_kafka_topic_name(message->rkt)) + "/" +
                         std::to_string(message->partition) + "/" + std::to_string(message->offset);
  arrival.id = id;
  Judge(arrival);
  arrival.message = pool_.Take(message, arrival.id);
}

void MessageReader::Release(void* message) {
  if (form_ == MessageForm::kHeld) {
    auto* const held = static_cast<HeldMessage*>(message);
    rd_kafka_message_destroy(held->raw);
    pool_.Return(held);
  } else {
    rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(message));
  }
}

std::unique_ptr<MessageView> MessageReader::NewView() const {
  return std::make_unique<KafkaView>(form_);
}

}  // namespace oncemq
