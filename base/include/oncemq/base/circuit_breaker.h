// SPDX-License-Identifier: Apache-2.0
// CircuitBreaker: what one process thinks of a store that fails again and again. It only thinks:
// leaving the store for another one takes a quorum of processes. Without clock or I/O.
//
// Thread safety: none; whoever owns it locks.
#pragma once

#include <optional>

#include "oncemq/base/clock.h"

namespace oncemq {

struct BreakerOptions {
  int failures = 5;           // in a row,
  milliseconds span{3'000};   // over so long at least, open it
  milliseconds probe{1'000};  // while it is open, one call in so long is let through
};

class CircuitBreaker {
 public:
  explicit CircuitBreaker(const BreakerOptions& options = {}) : options_(options) {}

  // Whether a call may be made now. An open one lets a probe through now and then.
  bool Lets(BootTime now);
  void Succeeded();
  void Failed(BootTime now);
  bool open() const { return open_; }

 private:
  const BreakerOptions options_;
  int failures_ = 0;
  std::optional<BootTime> failing_since_;
  BootTime probe_at_{};
  bool open_ = false;
};

}  // namespace oncemq
