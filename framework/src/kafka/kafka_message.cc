// SPDX-License-Identifier: Apache-2.0
#include "kafka_message.h"

#include <algorithm>

#include "oncemq/base/check.h"
#include "oncemq/base/hash.h"
#include "oncemq/framework/park.h"
#include "park_record.h"

namespace oncemq {
namespace {

constexpr size_t kLongestId = 1024;
constexpr uint32_t kOverhead = 256;  // of librdkafka and ours, besides key, value and headers

uint32_t CountedBytes(size_t bytes) {
  return static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX - kOverhead)) + kOverhead;
}

std::string_view Bytes(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

std::optional<std::string_view> PayloadOf(const rd_kafka_message_t* message) {
  return message->payload == nullptr ? std::nullopt
                                     : std::optional(Bytes(message->payload, message->len));
}

class KafkaMessage final : public Message {
 public:
  void Point(rd_kafka_message_t* raw) {
    raw_ = raw;
    parsed_.reset();
  }

  std::string_view topic() const override { return rd_kafka_topic_name(raw_->rkt); }
  int32_t partition() const override { return raw_->partition; }
  int64_t offset() const override { return raw_->offset; }
  int64_t timestamp_ms() const override { return rd_kafka_message_timestamp(raw_, nullptr); }
  std::optional<std::string_view> key() const override {
    return raw_->key == nullptr ? std::nullopt : std::optional(Bytes(raw_->key, raw_->key_len));
  }
  std::optional<std::string_view> value() const override { return PayloadOf(raw_); }
  std::optional<std::string_view> header(std::string_view name) const override {
    const void* value = nullptr;
    size_t size = 0;
    if (!Parse() || rd_kafka_header_get_last(parsed_.get(), std::string(name).c_str(), &value,
                                             &size) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return std::nullopt;
    }
    return Bytes(value == nullptr ? "" : value, size);
  }
  std::vector<MessageHeader> headers() const override {
    std::vector<MessageHeader> all;
    if (Parse()) {
      all.reserve(rd_kafka_header_cnt(parsed_.get()));
      ForEachHeader(parsed_.get(), [&](const MessageHeader& header) { all.push_back(header); });
    }
    return all;
  }

 private:
  // False: it has none.
  bool Parse() const {
    rd_kafka_headers_t* headers = nullptr;
    if (!parsed_ && rd_kafka_message_detach_headers(raw_, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      parsed_.reset(headers);
    }
    return parsed_ != nullptr;
  }

  rd_kafka_message_t* raw_ = nullptr;
  // Ours and not the message's, which waits for its release: of one message at a time. Its bytes
  // are copies of librdkafka's.
  mutable HeadersPtr parsed_;
};

class KafkaView final : public MessageView {
 public:
  explicit KafkaView(MessageForm form) : form_(form) {}
  const Message& Show(void* message) override {
    const MessageRef ref = RefOf(form_, message);
    if (const DetachedMessage* const copy = ref.copy()) [[unlikely]] {
      return *copy;
    }
    message_.Point(ref.raw());
    return message_;
  }

 private:
  const MessageForm form_;
  KafkaMessage message_;
};

// Read from the right, two numbers and the rest: one text for one place, whatever a topic is
// called.
std::string CoordinateId(std::string_view topic, int32_t partition, int64_t offset) {
  return std::string(topic) + "/" + std::to_string(partition) + "/" + std::to_string(offset);
}

std::string PlaceOfId(const RuntimeOptions& options) {
  return options.id_from == IdFrom::kKey ? "its key" : "its header " + options.id_header;
}

}  // namespace

uint32_t FingerprintOf(std::optional<std::string_view> payload) {
  constexpr uint32_t kTombstone = 0x746F6D62;
  if (!payload) {
    return kTombstone;
  }
  const auto low = static_cast<uint32_t>(StableHash(*payload));
  return low != 0 ? low : 1;
}

std::string IdOf(const RuntimeOptions& options, const Message& message) {
  std::optional<std::string_view> id;
  if (options.id_from == IdFrom::kHeader) {
    id = message.header(options.id_header);
  } else if (options.id_from == IdFrom::kKey) {
    id = message.key();
  }
  const bool stands_in =
      options.id_from == IdFrom::kCoordinates || options.missing_id == MissingId::kCoordinates;
  return id.value_or("").empty() && stands_in
             ? CoordinateId(message.topic(), message.partition(), message.offset())
             : std::string(id.value_or(""));
}

MessageReader::MessageReader(const RuntimeOptions& options, const IdNeeds& needs)
    : from_(options.id_from),
      missing_(options.missing_id),
      null_key_(options.null_key),
      header_(options.id_header),
      needs_(needs),
      max_bytes_(std::min(needs.max_bytes, kLongestId)),
      too_long_("the id is longer than the " + std::to_string(max_bytes_) +
                " bytes that the window takes"),
      no_id_{"the message has no id: it has no header " + header_,
             "the message has no id: " + PlaceOfId(options) + " is null",
             "the message has no id: " + PlaceOfId(options) + " is empty"},
      // An id made of coordinates has no copies but redeliveries.
      fingerprints_(needs.window && options.conflicts == ConflictPolicy::kDetect &&
                    from_ != IdFrom::kCoordinates),
      // Only an id that is the key itself has bytes that stay where they are.
      form_(needs.window && (from_ != IdFrom::kKey || missing_ == MissingId::kCoordinates)
                ? MessageForm::kHeld
                : MessageForm::kPlain) {}

void MessageReader::Read(rd_kafka_message_t* message, Arrival& arrival) {
  arrival.message = message;
  arrival.offset = message->offset;
  const bool reads_headers = needs_.window && from_ == IdFrom::kHeader;
  if (!reads_headers) {
    LearnHeaderBytes(message);
  }
  // Where headers are read for the id, these are counted there.
  arrival.bytes =
      CountedBytes(message->len + message->key_len + (reads_headers ? 0 : header_bytes_));
  if (message->key != nullptr) {
    arrival.key_hash = ProcessHash(Bytes(message->key, message->key_len));
  } else {
    ReadNullKey(arrival);
  }
  if (!needs_.window) {
    return;
  }
  if (needs_.times) {
    const int64_t stamp = rd_kafka_message_timestamp(message, nullptr);
    arrival.time = stamp < 0 ? kNoLogTime : LogTime(milliseconds(stamp));
  }
  if (from_ == IdFrom::kHeader) {
    ReadHeaderId(message, arrival);
  } else {
    const size_t size = from_ == IdFrom::kKey && message->key != nullptr ? message->key_len : 0;
    const NoId if_empty = message->key == nullptr ? NoId::kNull : NoId::kEmpty;
    TakeId(message, Bytes(message->key, size), if_empty, arrival);
  }
  if (fingerprints_ && !arrival.id.empty()) {
    arrival.fingerprint = FingerprintOf(PayloadOf(message));
  }
}

void MessageReader::ReadNullKey(Arrival& arrival) const {
  if (null_key_ == NullKey::kOneLane) {
    arrival.key_hash = kNullKeyLane;
  } else if (null_key_ == NullKey::kRefuse) {
    arrival.refusal = "the message has no key";
  }
}

// Of one message in 64: to parse them takes longer than all of our own work on a message. Follows
// larger ones at once and smaller ones slowly.
void MessageReader::LearnHeaderBytes(rd_kafka_message_t* message) {
  constexpr uint32_t kEvery = 64;
  if (++reads_ % kEvery != 0) {
    return;
  }
  size_t bytes = 0;
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_detach_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    bytes = HeaderBytes(headers);
    rd_kafka_headers_destroy(headers);
  }
  header_bytes_ = bytes >= header_bytes_ ? bytes : header_bytes_ - (header_bytes_ - bytes + 7) / 8;
}

void MessageReader::ReadHeaderId(rd_kafka_message_t* message, Arrival& arrival) {
  rd_kafka_headers_t* headers = nullptr;
  std::string_view id;
  NoId if_empty = NoId::kMissing;
  // Detached, so that they can be freed now; the message parses them again if a handler asks.
  if (rd_kafka_message_detach_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    size_t bytes = message->len + message->key_len;
    ForEachHeader(headers, [&](const MessageHeader& header) {
      bytes += HeaderBytes(header);
      if (header.name == header_) {  // the last one counts
        id = header.value.value_or("");
        if_empty = header.value ? NoId::kEmpty : NoId::kNull;
      }
    });
    arrival.bytes = CountedBytes(bytes);
  }
  TakeId(message, id, if_empty, arrival);
  if (headers != nullptr) {
    rd_kafka_headers_destroy(headers);
  }
}

// `id`: what the message says itself, empty where it says nothing. A refused message has none.
void MessageReader::TakeId(rd_kafka_message_t* message, std::string_view id, NoId if_empty,
                           Arrival& arrival) {
  std::string place;
  const bool stands_in = missing_ == MissingId::kCoordinates;
  if (from_ == IdFrom::kCoordinates || (id.empty() && stands_in)) {
    place = CoordinateId(rd_kafka_topic_name(message->rkt), message->partition, message->offset);
    id = place;
  }
  const bool passes = missing_ == MissingId::kPass;
  if (arrival.refusal == nullptr && id.empty() && !passes) {
    arrival.refusal = no_id_[static_cast<size_t>(if_empty)].c_str();
  } else if (arrival.refusal == nullptr && id.size() > max_bytes_) {
    arrival.refusal = too_long_.c_str();
  }
  arrival.id = arrival.refusal == nullptr ? id : std::string_view();
  arrival.id_hash = arrival.id.empty() ? 0 : ProcessHash(arrival.id);
  if (form_ == MessageForm::kHeld) {
    arrival.message = pool_.Take(MessageRef(message), arrival.id);
  }
}

// It keeps the id of its parking, since a marker may stand there.
void MessageReader::ReadParked(const rd_kafka_message_t* record, RedrivenArrival& arrival) {
  ParkHeaders own;
  const std::optional<ParkRecord> read = ReadParkRecord(*record, &own);
  ONCEMQ_CHECK(read, "only entries of a park topic are redriven");
  std::string_view topic = rd_kafka_topic_name(record->rkt);
  topic.remove_suffix(kParkSuffix.size());
  auto made =
      std::make_unique<DetachedMessage>(record, topic, record->partition, read->offset, own.size());
  DetachedMessage* const copy = made.get();
  copies_.emplace(copy, std::move(made));
  arrival.message = MessageRef(copy).pointer();
  arrival.offset = read->offset;
  arrival.bytes = CountedBytes(copy->bytes());
  if (copy->key()) {
    arrival.key_hash = ProcessHash(*copy->key());
  } else {
    ReadNullKey(arrival);
  }
  if (!needs_.window) {
    return;
  }
  arrival.time =
      copy->timestamp_ms() < 0 ? kNoLogTime : LogTime(milliseconds(copy->timestamp_ms()));
  std::string id = read->id;
  if (id.empty() && missing_ == MissingId::kCoordinates) {
    id = CoordinateId(topic, record->partition, read->offset);
  }
  arrival.id = id;
  if (arrival.refusal == nullptr && id.empty() && missing_ != MissingId::kPass) {
    arrival.refusal = no_id_[static_cast<size_t>(NoId::kMissing)].c_str();
  }
  arrival.id_hash = id.empty() ? 0 : ProcessHash(id);
  if (form_ == MessageForm::kHeld) {
    arrival.message = pool_.Take(MessageRef(copy), arrival.id);
  } else {
    arrival.id = id.empty() ? std::string_view() : copy->key().value_or("");
  }
  if (fingerprints_ && !arrival.id.empty()) {
    arrival.fingerprint = FingerprintOf(copy->value());
  }
}

const DetachedMessage* MessageReader::Redriven(void* message) const {
  const DetachedMessage* const copy = RefOf(form_, message).copy();
  return copy != nullptr && copy->redriven() ? copy : nullptr;
}

void MessageReader::Release(void* message) {
  const MessageRef ref = RefOf(form_, message);
  if (const DetachedMessage* const copy = ref.copy()) [[unlikely]] {
    copies_.erase(copy);
  } else {
    rd_kafka_message_destroy(ref.raw());
  }
  if (form_ == MessageForm::kHeld) {
    pool_.Return(static_cast<HeldMessage*>(message));
  }
}

void MessageReader::Detach(LeftBehind& message) {
  rd_kafka_message_t* const raw = RefOf(form_, message.message).raw();
  auto made = std::make_unique<DetachedMessage>(raw);
  DetachedMessage* const copy = made.get();
  copies_.emplace(copy, std::move(made));
  message.bytes = CountedBytes(copy->bytes());
  if (form_ == MessageForm::kHeld) {
    static_cast<HeldMessage*>(message.message)->message = MessageRef(copy);
  } else {
    message.message = MessageRef(copy).pointer();
    if (!message.id.empty()) {
      message.id = *copy->key();  // in this form an id is the key
    }
  }
  rd_kafka_message_destroy(raw);
}

void MessageReader::Abandon() {
  pool_.Abandon();
  static Mutex mutex;
  static auto& kept = *new std::vector<Copies>;  // reachable, as in MessagePool
  MutexLock lock(mutex);
  kept.push_back(std::move(copies_));
}

std::unique_ptr<MessageView> MessageReader::NewView() const {
  return std::make_unique<KafkaView>(form_);
}

}  // namespace oncemq
