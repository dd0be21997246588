// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/circuit_breaker.h"

namespace oncemq {

bool CircuitBreaker::Lets(BootTime now) {
  if (!open_) {
    return true;
  }
  if (now < probe_at_) {
    return false;
  }
  probe_at_ = now + options_.probe;
  return true;
}

void CircuitBreaker::Succeeded() {
  failures_ = 0;
  failing_since_.reset();
  open_ = false;
}

void CircuitBreaker::Failed(BootTime now) {
  failures_++;
  failing_since_ = failing_since_.value_or(now);
  const bool long_enough = now - *failing_since_ >= options_.span;
  if (!open_ && failures_ >= options_.failures && long_enough) {
    open_ = true;
    probe_at_ = now + options_.probe;
  }
}

}  // namespace oncemq
