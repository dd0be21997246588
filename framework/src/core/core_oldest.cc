// SPDX-License-Identifier: Apache-2.0
// Finds the message that holds up a partition.
#include <algorithm>

#include "core_impl.h"
#include "oncemq/base/check.h"

namespace oncemq {

std::string_view ToString(OpenState state) {
  switch (state) {
    case OpenState::kQueued:
      return "queued";
    case OpenState::kRunning:
      return "running";
    case OpenState::kRetrying:
      return "retrying";
    case OpenState::kClaimed:
      return "claimed";
    case OpenState::kOwed:
      return "owed";
    case OpenState::kStopped:
      return "stopped";
  }
  return "?";
}

void Core::Impl::FindOldest(std::span<OpenMessage> messages) {
  ONCEMQ_CHECK(std::ranges::is_sorted(messages, {}, &OpenMessage::partition),
               "partitions are asked for in rising order");
  std::vector<uint32_t> slots(messages.size(), kNoIndex);
  const auto inspect = [&](uint32_t slot) {
    const Delivery& delivery = slab_[slot];
    const auto at =
        std::ranges::lower_bound(messages, delivery.partition, {}, &OpenMessage::partition);
    if (at == messages.end() || at->partition != delivery.partition || delivery.finished ||
        !At(delivery.partition).Current(delivery.epoch)) {
      return false;
    }
    if (at->id.empty() ? delivery.carried.redriven : at->id != delivery.id_view()) {
      return false;
    }
    uint32_t& lowest = slots[static_cast<size_t>(at - messages.begin())];
    if (lowest == kNoIndex || delivery.offset < slab_[lowest].offset) {
      lowest = slot;
    }
    return false;
  };
  lanes_.ForEach([&](uint32_t lane) { lanes_.Filter(lane, inspect); });
  for (size_t i = 0; i < messages.size(); i++) {
    if (slots[i] != kNoIndex) {
      messages[i] = Describe(slab_[slots[i]], slots[i]);
    }
  }
}

OpenMessage Core::Impl::Describe(const Delivery& delivery, uint32_t slot) const {
  OpenMessage message;
  message.partition = delivery.partition;
  message.offset = delivery.offset;
  message.id = delivery.id_view();
  message.time = delivery.time;
  message.message = delivery.message;
  message.attempt = std::max<uint32_t>(delivery.attempt, kept_outcomes_.FailedOf(slot));
  const Retries::Wait* const wait = retries_.Find(slot, delivery.partition, delivery.offset);
  message.why = wait != nullptr ? wait->why : "";
  if (IsDecided(delivery.carried.stage)) {
    message.state = OpenState::kOwed;
  } else if (delivery.running) {
    message.state = OpenState::kRunning;
    message.attempt++;
  } else if (retries_.Retrying(slot)) {
    message.state = OpenState::kRetrying;
  } else if (wait != nullptr) {
    message.state = OpenState::kClaimed;
  }
  const bool waits = message.state == OpenState::kRetrying || message.state == OpenState::kClaimed;
  if (wait != nullptr && waits) {
    message.next_try = wait->until;
  }
  return message;
}

}  // namespace oncemq
