// SPDX-License-Identifier: Apache-2.0
// A librdkafka message as the handler sees it, and how its id and key are found. Key and payload
// are views into librdkafka's memory, or, of a message that was copied, into its copy.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "message_pool.h"
#include "message_ref.h"
#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

// The meaning of an Arrival's message pointer: the pointer of a MessageRef, or a HeldMessage.
enum class MessageForm : uint8_t { kPlain, kHeld };

inline MessageRef RefOf(MessageForm form, void* message) {
  return form == MessageForm::kHeld ? static_cast<const HeldMessage*>(message)->message
                                    : MessageRef::FromPointer(message);
}

// Tells payloads apart (rule 18): equal ones are equal in every process and version, different ones
// differ but for one in 2^32. Never 0. Nothing is a tombstone, which is not an empty payload.
uint32_t FingerprintOf(std::optional<std::string_view> payload);

// The id of a message by the recipe of the service, before its bounds. It is empty for none.
std::string IdOf(const RuntimeOptions& options, const Message& message);

// With NullKey::kOneLane, the hash of no key. Any number but 0 will do. A key with this hash would
// share the lane, which is slower and not wrong.
inline constexpr uint64_t kNullKeyLane = 1;

// What a window needs to know of each message.
struct IdNeeds {
  bool window = false;  // there is one: ids are read
  size_t max_bytes = 0;
  bool times = false;  // it forgets by age
};

// From librdkafka's messages to arrivals, and back.
//
// Thread safety: one thread, but for NewView().
class MessageReader {
 public:
  // Reasons of refusals are valid as long as the reader.
  MessageReader(const RuntimeOptions& options, const IdNeeds& needs);

  // Takes the message over; Release gives it back to librdkafka, or frees the copy.
  void Read(rd_kafka_message_t* message, Arrival& arrival);
  // Copies a record of a park topic, as the message in it.
  void ReadParked(const rd_kafka_message_t* record, RedrivenArrival& arrival);
  // nullptr: the message is not from a park topic.
  const DetachedMessage* Redriven(void* message) const;
  void Release(void* message);
  // Copies a message of librdkafka's, and gives that back. Precondition: Raw() is not nullptr, and
  // no view shows it.
  void Detach(LeftBehind& message);
  // Of an arrival of ours. nullptr: it is a copy by now.
  const rd_kafka_message_t* Raw(void* message) const { return RefOf(form_, message).raw(); }
  size_t copies() const { return copies_.size(); }
  std::unique_ptr<MessageView> NewView() const;
  // Messages of ours may be in use for ever.
  void Abandon();

 private:
  void LearnHeaderBytes(rd_kafka_message_t* message);
  void ReadNullKey(Arrival& arrival) const;
  void ReadHeaderId(rd_kafka_message_t* message, Arrival& arrival);
  enum class NoId : uint8_t { kMissing, kNull, kEmpty };
  void TakeId(rd_kafka_message_t* message, std::string_view id, NoId if_empty, Arrival& arrival);

  const IdFrom from_;
  const MissingId missing_;
  const NullKey null_key_;
  const std::string header_;
  const IdNeeds needs_;
  const size_t max_bytes_;
  const std::string too_long_;
  const std::array<std::string, 3> no_id_;  // by NoId
  const bool fingerprints_;
  const MessageForm form_;
  MessagePool pool_;
  using Copies = std::unordered_map<const DetachedMessage*, std::unique_ptr<DetachedMessage>>;
  Copies copies_;
  uint32_t reads_ = 0;
  size_t header_bytes_ = 0;  // of one message, lately, where headers are not read for the id
};

}  // namespace oncemq
