// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/stop_caller.h"

#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

// Whose callback this thread is in.
thread_local const void* t_calls_for = nullptr;

}  // namespace

bool StopCaller::Request(std::stop_source source) {
  MutexLock lock(shared_->mutex);
  ONCEMQ_CHECK(shared_->inside <= shared_->alive, "each callback has a thread of its own");
  // Whoever waits has a thread that is not in a callback yet, so a hang delays nobody else.
  if (shared_->waiting.size() >= shared_->alive - shared_->inside) {
    auto thread = StartThread("oncemq-stop", [shared = shared_] { Call(*shared); });
    if (!thread) {
      return false;
    }
    thread->detach();
    shared_->alive++;
  }
  shared_->waiting.push_back(std::move(source));
  return true;
}

void StopCaller::Call(Shared& shared) {
  t_calls_for = &shared;
  for (bool inside = false;; inside = true) {
    std::stop_source source(std::nostopstate);
    {
      MutexLock lock(shared.mutex);
      shared.inside -= inside ? 1 : 0;
      if (shared.waiting.empty()) {
        ONCEMQ_CHECK(shared.alive > shared.inside, "each callback has a thread of its own");
        shared.alive--;
        shared.changed.notify_all();
        return;
      }
      source = std::move(shared.waiting.front());
      shared.waiting.pop_front();
      shared.inside++;
    }
    source.request_stop();
  }
}

bool StopCaller::End(milliseconds within) {
  const Clock& clock = SystemClock::Instance();
  const BootTime until = clock.Boot() + within;
  // A callback that ends its caller does not wait for itself.
  const uint32_t mine = t_calls_for == shared_.get() ? 1 : 0;
  MutexLock lock(shared_->mutex);
  while (shared_->alive > mine && clock.Boot() < until) {
    shared_->changed.wait_for(shared_->mutex, until - clock.Boot());
  }
  return shared_->alive == mine;
}

}  // namespace oncemq
