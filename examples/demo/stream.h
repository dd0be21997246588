// SPDX-License-Identifier: Apache-2.0
// Sends the plan's payments at an even pace, wave by wave.
// Failure: as PaymentProducer's, and kFull before the embedded broker would drop a message.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "payment_plan.h"
#include "payment_producer.h"
#include "timing.h"

namespace oncemq::demo {

class Stream {
 public:
  Stream(const PaymentPlan& plan, PaymentProducer& producer, int64_t a_second = kMessagesPerSecond)
      : plan_(plan), producer_(producer), a_second_(a_second) {}

  // Flows from now on until `share` of all messages is sent.
  void FlowTo(double share, BootTime now);
  void Pause();  // where it is
  // Sends what is due.
  Status Flow(BootTime now);

  size_t sent() const { return sent_; }
  size_t size() const { return plan_.sends.size(); }
  bool Past(double share) const { return sent_ >= Position(share); }
  // Everything of this wave is sent and acknowledged.
  bool Quiet() const;

 private:
  size_t Position(double share) const;

  const PaymentPlan& plan_;
  PaymentProducer& producer_;
  const int64_t a_second_;
  size_t sent_ = 0;
  size_t wave_begin_ = 0;
  size_t wave_end_ = 0;
  BootTime wave_began_{};
};

}  // namespace oncemq::demo
