// SPDX-License-Identifier: Apache-2.0
// MessagePool: places that keep a message together with the bytes of its id.
//
// Why the id is copied: librdkafka parses headers into three allocations. Freed at once, they cost
// next to nothing; kept until the message is released, by the thousand, they cost more than all of
// our own work on the message.
//
// Thread safety: Take and Return on one thread; what a place holds may be read from any.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "message_ref.h"
#include "oncemq/base/mutex.h"
#include "rdkafka_ptr.h"

namespace oncemq {

struct HeldMessage {
  static constexpr size_t kInline = 48;

  MessageRef message;
  std::unique_ptr<char[]> long_id;  // where the inline bytes do not suffice
  char id[kInline];
};
static_assert(sizeof(HeldMessage) == 64);

class MessagePool {
 public:
  // A place for the message; `id` becomes a view of its own copy.
  HeldMessage* Take(MessageRef message, std::string_view& id) {
    if (free_.empty()) {
      Grow();
    }
    HeldMessage* const held = free_.back();
    free_.pop_back();
    held->message = message;
    char* bytes = held->id;
    if (id.size() > HeldMessage::kInline) {
      held->long_id.reset(new char[id.size()]);
      bytes = held->long_id.get();
    }
    if (!id.empty()) {
      std::memcpy(bytes, id.data(), id.size());
    }
    id = {bytes, id.size()};
    return held;
  }

  void Return(HeldMessage* held) {
    held->long_id.reset();
    free_.push_back(held);
  }

  // Places stay for ever: somebody may hold one for ever.
  void Abandon() {
    static Mutex mutex;
    static auto& kept =
        *new std::vector<Blocks>;  // reachable: a leak checker sees that it is meant
    MutexLock lock(mutex);
    kept.push_back(std::move(blocks_));
  }

 private:
  static constexpr size_t kBlock = 1024;
  using Blocks = std::vector<std::unique_ptr<HeldMessage[]>>;

  void Grow() {
    blocks_.push_back(std::make_unique<HeldMessage[]>(kBlock));
    for (size_t i = kBlock; i-- > 0;) {
      free_.push_back(&blocks_.back()[i]);
    }
  }

  Blocks blocks_;
  std::vector<HeldMessage*> free_;
};

}  // namespace oncemq
