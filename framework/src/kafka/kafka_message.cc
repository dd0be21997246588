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
  std::optional<std::string_view> value() const override {
    return raw_->payload == nullptr ? std::nullopt : std::optional(Bytes(raw_->payload, raw_->len));
  }
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
  explicit KafkaView(const IdReader& reader) : reader_(reader) {}
  const Message& Show(void* message) override {
    message_.Point(reader_.Raw(message));
    return message_;
  }

 private:
  const IdReader reader_;  // a copy: a view may outlive the source
  KafkaMessage message_;
};

}  // namespace

struct IdReader::Holder {
  rd_kafka_message_t* message;
  std::string id;
};

IdReader::IdReader(const RuntimeOptions& options, bool window, size_t max_bytes)
    : from_(options.id_from),
      header_(options.id_header),
      max_bytes_(std::min(max_bytes, kLongestId)),
      form_(window && from_ == IdFrom::kCoordinates ? MessageForm::kWithId : MessageForm::kPlain),
      window_(window) {}

std::string_view IdReader::HeaderOf(const rd_kafka_message_t* message) const {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      rd_kafka_header_get_last(headers, header_.c_str(), &value, &size) !=
          RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  return Bytes(value, size);
}

Arrival IdReader::Read(rd_kafka_message_t* message) const {
  Arrival arrival;
  arrival.message = message;
  arrival.offset = message->offset;
  arrival.bytes = static_cast<uint32_t>(message->len + message->key_len) + kOverhead;
  arrival.key_hash =
      message->key == nullptr ? 0 : ProcessHash(Bytes(message->key, message->key_len));
  if (!window_) {
    return arrival;
  }
  switch (from_) {
    case IdFrom::kHeader:
      arrival.id = HeaderOf(message);
      break;
    case IdFrom::kKey:
      arrival.id = Bytes(message->key, message->key == nullptr ? 0 : message->key_len);
      break;
    case IdFrom::kCoordinates: {
      auto* holder = new Holder{message, rd_kafka_topic_name(message->rkt)};
      holder->id +=
          "/" + std::to_string(message->partition) + "/" + std::to_string(message->offset);
      arrival.message = holder;
      arrival.id = holder->id;
      break;
    }
  }
  if (arrival.id.empty() || arrival.id.size() > max_bytes_) {
    arrival.refusal =
        arrival.id.empty() ? "the message has no id" : "the id is longer than the window takes";
    arrival.id = {};
    return arrival;
  }
  arrival.id_hash = ProcessHash(arrival.id);
  return arrival;
}

void IdReader::Release(void* message) const {
  if (form_ == MessageForm::kWithId) {
    const std::unique_ptr<Holder> holder(static_cast<Holder*>(message));
    rd_kafka_message_destroy(holder->message);
  } else {
    rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(message));
  }
}

const rd_kafka_message_t* IdReader::Raw(void* message) const {
  return form_ == MessageForm::kWithId ? static_cast<Holder*>(message)->message
                                       : static_cast<rd_kafka_message_t*>(message);
}

std::unique_ptr<MessageView> IdReader::NewView() const {
  return std::make_unique<KafkaView>(*this);
}

}  // namespace oncemq
