// SPDX-License-Identifier: Apache-2.0
// Sends payments: key is the account that pays, header "message-id" is the id. Counts what the
// broker has acknowledged, and how much of the broker's volume it takes.
// Failure: a payment that the broker refused is an error of the next call.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "payment.h"

namespace oncemq::demo {

class PaymentProducer {
 public:
  static Result<std::unique_ptr<PaymentProducer>> Connect(const std::string& brokers,
                                                          const std::string& topic, int partitions);
  virtual ~PaymentProducer() = default;

  virtual Status Send(const Payment& payment) = 0;
  // Takes note of acknowledgements without waiting for them.
  virtual Status Poll() = 0;
  virtual Status Flush(milliseconds timeout) = 0;

  // Per partition, what the broker has acknowledged.
  struct Volume {
    int64_t messages = 0;
    int64_t bytes = 0;  // as the broker counts them, a little rounded up
  };
  virtual const std::vector<Volume>& volumes() const = 0;
};

// What one payment takes in the broker, a little rounded up.
int64_t VolumeOf(const Payment& payment);

}  // namespace oncemq::demo
