// SPDX-License-Identifier: Apache-2.0
// Which messages have to be copied, since the queue has gone on without them.
//
// The source keeps a whole response of the broker, megabytes, for as long as one of its messages is
// not released. In a queue that moves on that costs one response at each end. A message that
// waits, for a timer, its id, its partition or a slow handler before it in its lane, would keep one
// for itself alone.
//
// The rule: bytes_ - copied_bytes_ is the size of all messages that are no copies. If more than
// that and left_behind_bytes was admitted after a message, then at least left_behind_bytes of the
// messages admitted after it have finished, or are copies: it is left behind. In a queue that moves
// on nothing is, however long it is: then no message is copied.
#include "core_impl.h"
#include "oncemq/base/check.h"

namespace oncemq {

void Core::Impl::TakeLeftBehind(std::vector<LeftBehind>& messages) {
  if (admitted_ < check_at_) {
    return;
  }
  check_at_ = admitted_ + options_.waiting.left_behind_bytes / 4;
  const uint64_t reach = bytes_ - copied_bytes_ + options_.waiting.left_behind_bytes;
  if (admitted_ <= reach) {
    return;
  }
  const uint64_t limit = admitted_ - reach;
  for (uint32_t slot = 0; slot < used_; slot++) {
    if (stamps_[slot] >= limit) {
      continue;
    }
    const Delivery& delivery = slab_[slot];
    if (delivery.message == nullptr) {
      stamps_[slot] = kNoStamp;
    } else if (!delivery.running) {  // else its handler has it in hand, or will soon
      messages.push_back({slot, delivery.message, delivery.id_view(), delivery.bytes});
    }
  }
}

void Core::Impl::Replace(std::span<const LeftBehind> copies) {
  for (const LeftBehind& copy : copies) {
    Delivery& delivery = slab_[copy.slot];
    ONCEMQ_CHECK(delivery.message != nullptr && !delivery.running && stamps_[copy.slot] < kCopied,
                 "what is replaced was taken just now, and is with nobody");
    ONCEMQ_CHECK(copy.message != nullptr && copy.id.size() == delivery.id_size,
                 "a copy is the same message");
    delivery.message = copy.message;
    delivery.id = copy.id.data();
    if (lanes_[delivery.lane].counted) {
      waiting_.Join(delivery.lane, {0, copy.bytes});
      waiting_.Leave(delivery.lane, {0, delivery.bytes});
    }
    bytes_ += copy.bytes;
    bytes_ -= delivery.bytes;
    delivery.bytes = copy.bytes;
    copied_bytes_ += copy.bytes;
    stamps_[copy.slot] = kCopied;
  }
}

}  // namespace oncemq
