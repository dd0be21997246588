// SPDX-License-Identifier: Apache-2.0
// A librdkafka message as the handler sees it, and how its id and key are found. Zero-copy: views
// into librdkafka's memory.
#pragma once

#include <memory>

#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

// What an Arrival's message pointer means: librdkafka's message itself, or, where ids are made from
// coordinates, a holder that also keeps the id's bytes.
enum class MessageForm : uint8_t { kPlain, kWithId };

class IdReader {
 public:
  // `max_bytes` of the window; ids are read only if there is one.
  IdReader(const RuntimeOptions& options, bool window, size_t max_bytes);

  MessageForm form() const { return form_; }
  // Takes the message over; Release gives it back to librdkafka.
  Arrival Read(rd_kafka_message_t* message) const;
  void Release(void* message) const;
  // Of an arrival of ours.
  const rd_kafka_message_t* Raw(void* message) const;
  std::unique_ptr<MessageView> NewView() const;

 private:
  struct Holder;
  std::string_view HeaderOf(const rd_kafka_message_t* message) const;

  const IdFrom from_;
  const std::string header_;
  const size_t max_bytes_;
  const MessageForm form_;
  const bool window_;
};

}  // namespace oncemq
