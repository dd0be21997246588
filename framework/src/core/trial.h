// SPDX-License-Identifier: Apache-2.0
// Trial: the messages with workers, and the right of one to be the only one in this process.
//
//   Begin(message)   a suspect is at the head of a ready lane: nothing more is handed out
//   HandOut(message) no call runs, and an acknowledged commit names it
//   Withdraw()       its call has returned, or it may not run now
//   End()            no commit names it any more; others go first for a while
//
// **Promise:** while a trial is on, no handler is called but that of its message. Owed completions
// call none, and go on.
//
// **Thread safety:** none; lives inside the core.
#pragma once

#include <cstdint>

#include "oncemq/base/check.h"
#include "oncemq/framework/batch.h"

namespace oncemq {

class Trial {
 public:
  void Count(const std::vector<BatchItem>& items) {
    for (const BatchItem& item : items) {
      calls_ += item.stage == Stage::kApplied ? 0 : 1;
    }
    running_ += static_cast<uint32_t>(items.size());
  }
  void Returned(bool owed) {
    ONCEMQ_CHECK(running_ > 0 && (owed || calls_ > 0), "each message that is settled was taken");
    running_--;
    calls_ -= owed ? 0 : 1;
  }

  void Begin(PartitionId partition, const DeliveryName& message) {
    ONCEMQ_CHECK(!on_ || (partition_ == partition && !granted_), "one trial at a time");
    on_ = has_message_ = true;
    partition_ = partition;
    message_ = message;
  }
  void HandOut(const DeliveryName& message) {
    ONCEMQ_CHECK(!Is(message) || calls_ == 0, "a suspect runs while nothing else does");
    granted_ |= Is(message);
    others_ = granted_ ? kOthers : others_;
  }
  void Withdraw() { has_message_ = granted_ = false; }
  void End() { on_ = has_message_ = granted_ = false; }

  // Whether other messages go first. So a long row of suspects does not hold up the process.
  bool others_first() const { return others_ > 0; }
  void OthersWent() { others_ -= others_ > 0 && !on_ ? 1 : 0; }
  void NoOthers() { others_ = 0; }

  bool on() const { return on_; }
  PartitionId partition() const { return partition_; }
  // Precondition: has_message().
  const DeliveryName& message() const { return message_; }
  bool Is(const DeliveryName& message) const {
    return has_message_ && message.slot == message_.slot && message.ticket == message_.ticket;
  }
  bool has_message() const { return has_message_; }
  bool granted() const { return granted_; }
  uint32_t running() const { return running_; }
  uint32_t calls() const { return calls_; }  // of running ones, those with a handler to call

 private:
  static constexpr uint32_t kOthers = 8;  // batches between two trials

  bool on_ = false;
  bool has_message_ = false;
  bool granted_ = false;
  PartitionId partition_ = 0;
  DeliveryName message_;
  uint32_t running_ = 0;
  uint32_t calls_ = 0;
  uint32_t others_ = 0;  // batches to go
};

}  // namespace oncemq
