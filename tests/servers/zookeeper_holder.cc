// SPDX-License-Identifier: Apache-2.0
// zookeeper_holder ADDRESS NAME: takes the name in a session of six seconds, says "held", and says
// why it lost it when it has.
#include <atomic>
#include <cstdio>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/zookeeper_locks.h"

int main(int count, char** arguments) {
  using oncemq::milliseconds;
  if (count != 3) {
    return 2;
  }
  const auto engine = oncemq::OpenZooKeeperLocks(
      arguments[1], {.call = milliseconds(1'500), .session = milliseconds(6'000)});
  if (!engine) {
    std::fprintf(stderr, "%s\n", ToString(engine.error()).c_str());
    return 1;
  }
  const milliseconds lasts(4'400);
  const auto domain = oncemq::LockDomain::Open(*engine, {.lease = lasts});
  const auto lease = (*domain)->Acquire(arguments[2]);
  if (!lease || !*lease) {
    return 1;
  }
  std::puts("held");
  std::fflush(stdout);
  std::atomic<bool> told{false};
  const std::stop_callback on_stop((*lease)->stop(), [&] {
    told = true;
    told.notify_all();
  });
  told.wait(false);
  // It counts its own time, and the store says the same.
  const oncemq::AcquireRequest request{
      .name = arguments[2], .token = {1, 1}, .queue = false, .lease = lasts, .queue_lease = lasts};
  const auto other = (*engine)->Request(request);
  std::puts(other && other->kind == oncemq::LockAnswer::Kind::kGranted ? "lost, and free" : "lost");
  return 0;
}
