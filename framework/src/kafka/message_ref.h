// SPDX-License-Identifier: Apache-2.0
// MessageRef: one of librdkafka's messages, or our copy of one, as one pointer. A copy is marked by
// an odd address. It owns nothing.
//
// Thread safety: none needed, a value.
#pragma once

#include <cstdint>

#include "detached_message.h"

namespace oncemq {

class MessageRef {
 public:
  MessageRef() = default;
  explicit MessageRef(rd_kafka_message_t* message) : place_(message) {}
  explicit MessageRef(DetachedMessage* copy) : place_(reinterpret_cast<char*>(copy) + 1) {}
  static MessageRef FromPointer(void* pointer) {
    MessageRef ref;
    ref.place_ = pointer;
    return ref;
  }

  void* pointer() const { return place_; }
  // nullptr: it is a copy.
  rd_kafka_message_t* raw() const {
    return IsCopy() ? nullptr : static_cast<rd_kafka_message_t*>(place_);
  }
  // nullptr: it is none.
  DetachedMessage* copy() const {
    return IsCopy() ? reinterpret_cast<DetachedMessage*>(static_cast<char*>(place_) - 1) : nullptr;
  }

 private:
  static_assert(alignof(DetachedMessage) > 1 && alignof(rd_kafka_message_t) > 1);
  bool IsCopy() const { return reinterpret_cast<uintptr_t>(place_) % 2 != 0; }

  void* place_ = nullptr;
};

}  // namespace oncemq
