// SPDX-License-Identifier: Apache-2.0
// Hold: what a lease and those who keep it alive share.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "lock_counters.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/fence.h"
#include "oncemq/base/token.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

class Watchdog;

// Thread safety: what is const needs none, the rest is atomic or says whose it is. Only the
// watchdog writes, but for what is said to be another's.
struct Hold {
  Hold(std::shared_ptr<Watchdog> d, std::string_view n, const Token& t, LockMode m, const Fence& f,
       milliseconds l)
      : watchdog(std::move(d)), name(n), token(t), mode(m), fence(f), lease(l) {}

  const std::shared_ptr<Watchdog> watchdog;
  const std::string name;
  const Token token;
  const LockMode mode;
  const Fence fence;
  const milliseconds lease;
  std::shared_ptr<LockCounters> counters;  // of its domain, from before it is watched
  std::stop_source stop;
  std::stop_source recalled;
  std::atomic<BootTime> safe_until{BootTime{}};
  std::atomic<LeaseLoss> lost{LeaseLoss::kNot};
  std::atomic<bool> ends_process{false};  // when it is lost; said by its holder
  bool suspect = false;                   // its last renewal failed; of the thread that renews
};

// By std::terminate, with a line in the log.
[[noreturn]] void EndProcess(std::string_view name);

}  // namespace oncemq
