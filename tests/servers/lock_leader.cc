// SPDX-License-Identifier: Apache-2.0
// A process that campaigns until it is killed, and says what became of it, each line with the time
// of the clock that all processes share:
//
//   stands 0 0 MICROS            it has reached the store
//   leads EPOCH TOKEN MICROS     with this fence
//   stopped 0 0 MICROS           its stop token was requested
//
//   lock_leader KEY=VALUE...     player_options.h: at, lease, call, session
#include <unistd.h>

#include <cstdio>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/election.h"
#include "player_locks.h"

namespace oncemq::testing {
namespace {

void Say(const char* what, const Fence& fence) {
  const auto now = SystemClock::Instance().Boot().time_since_epoch().count();
  const std::string line = std::string(what) + " " + std::to_string(fence.epoch) + " " +
                           std::to_string(fence.token) + " " + std::to_string(now) + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) {
    std::perror("lock_leader");
  }
}

int Main(const PlayerOptions& options) {
  const auto engine = OpenPlayerLocks(options.at, options);
  // Who is to stop has a while for it, though the machine is busy.
  auto domain = engine ? LockDomain::Open(*engine, {.lease = options.lease,
                                                    .margin = options.lease / 4,
                                                    .queue_lease = options.queue_lease})
                       : engine.error();
  if (!domain) {
    std::fprintf(stderr, "lock_leader: %s\n", ToString(domain.error()).c_str());
    return 1;
  }
  Say("stands", {});
  const Lead lead = [](const Lease& lease, const std::stop_token& stop) {
    Say("leads", lease.fence());
    const std::stop_callback on_stop(stop, [] { Say("stopped", {}); });
    Mutex mutex;
    ConditionVariable never;
    MutexLock lock(mutex);
    never.wait(mutex, stop, [] { return false; });
  };
  const Status ended = Campaign(**domain, "leader", lead, {}, {.pause = milliseconds(100)});
  std::fprintf(stderr, "lock_leader: %s\n", ended ? "?" : ToString(ended.error()).c_str());
  return 1;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return oncemq::testing::Main(
      oncemq::testing::ParsePlayerOptions(std::vector<std::string>(argv + 1, argv + argc)));
}
