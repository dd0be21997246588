// SPDX-License-Identifier: Apache-2.0
// A librdkafka message as the handler sees it, and how its id and key are found. Key and payload
// are views into librdkafka's memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "message_pool.h"
#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

// What an Arrival's message pointer means: librdkafka's message itself, or a HeldMessage.
enum class MessageForm : uint8_t { kPlain, kHeld };

inline const rd_kafka_message_t* RawMessage(MessageForm form, const void* message) {
  return form == MessageForm::kHeld ? static_cast<const HeldMessage*>(message)->raw
                                    : static_cast<const rd_kafka_message_t*>(message);
}

// Tells payloads apart (rule 18): equal ones are equal in every process and version, different ones
// differ but for one in 2^32. Never 0. Nothing is a tombstone, which is not an empty payload.
uint32_t FingerprintOf(std::optional<std::string_view> payload);

// What a window needs to know of each message.
struct IdNeeds {
  bool window = false;  // there is one: ids are read
  size_t max_bytes = 0;
  bool times = false;  // it forgets by age
};

// From librdkafka's messages to arrivals, and back.
// Thread safety: one thread, but for NewView().
class MessageReader {
 public:
  // Reasons of refusals are valid as long as the reader.
  MessageReader(const RuntimeOptions& options, const IdNeeds& needs);

  // Takes the message over; Release gives it back to librdkafka.
  void Read(rd_kafka_message_t* message, Arrival& arrival);
  void Release(void* message);
  // Of an arrival of ours.
  const rd_kafka_message_t* Raw(const void* message) const { return RawMessage(form_, message); }
  std::unique_ptr<MessageView> NewView() const;
  // Messages of ours may be in use for ever.
  void Abandon() { pool_.Abandon(); }

 private:
  void ReadNullKey(Arrival& arrival) const;
  void ReadHeaderId(rd_kafka_message_t* message, Arrival& arrival);
  void TakeId(rd_kafka_message_t* message, std::string_view id, Arrival& arrival);
  static std::string CoordinateId(const rd_kafka_message_t& message);

  const IdFrom from_;
  const MissingId missing_;
  const NullKey null_key_;
  const std::string header_;
  const IdNeeds needs_;
  const size_t max_bytes_;
  const std::string too_long_;
  const bool fingerprints_;
  const MessageForm form_;
  MessagePool pool_;
};

}  // namespace oncemq
