// SPDX-License-Identifier: Apache-2.0
// One of several processes that want the same names: acquires, holds for a while, releases, and
// writes down what it believes while it believes it.
//
//   lock_player ENGINE REDIS SECONDS SEED CLOCK_ERROR_MS FILE
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "lock_history.h"
#include "museum.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"

namespace oncemq::testing {
namespace {

// Short, so that many end while somebody is paused.
constexpr milliseconds kLease{200};

int64_t Now() {
  return SystemClock::Instance().Boot().time_since_epoch().count();
}

Result<std::shared_ptr<LockEngine>> OpenEngine(const std::string& engine, const char* redis,
                                               milliseconds clock_error) {
  if (engine == "redis") {
    return OpenRedisLocks(redis, {.call = milliseconds(60)});
  }
  return OpenExhibit(engine, redis, clock_error);
}

class Player {
 public:
  Player(LockDomain& domain, int file, uint32_t seed)
      : domain_(domain), file_(file), random_(seed) {}

  void Play() {
    Belief belief{.process = getpid(), .name = std::string(1, static_cast<char>('a' + Below(3)))};
    auto lease = domain_.Acquire(belief.name,
                                 {.until = domain_.clock().Boot() + milliseconds(50 + Below(300))});
    if (!lease || !*lease) {
      return;
    }
    belief.fence = (*lease)->fence().token;
    const int64_t until = Now() + microseconds(milliseconds(Below(900))).count();
    do {
      // Asked, then looked at the clock: it believed at that moment at the latest.
      const int64_t now = Now();
      if (!(*lease)->StillMine()) {
        break;
      }
      belief.from = belief.from == 0 ? now : belief.from;
      belief.to = now;
      Write(belief);
      SleepFor(milliseconds(Below(3)));
    } while (Now() < until);
  }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  void Write(const Belief& belief) const {
    const std::string line = LineOf(belief);
    if (write(file_, line.data(), line.size()) < 0) {
      std::perror("lock_player");
    }
  }

  LockDomain& domain_;
  const int file_;
  std::mt19937 random_;
};

int Main(char** argv) {
  const int64_t end = Now() + int64_t{std::atoi(argv[3])} * 1'000'000;
  auto engine = OpenEngine(argv[1], argv[2], milliseconds(std::atoi(argv[5])));
  while (!engine && Now() < end) {  // there may be trouble from the start
    SleepFor(milliseconds(50));
    engine = OpenEngine(argv[1], argv[2], milliseconds(std::atoi(argv[5])));
  }
  if (!engine) {
    std::fprintf(stderr, "lock_player: %s\n", ToString(engine.error()).c_str());
    return 1;
  }
  const auto domain =
      LockDomain::Open(*engine, {.lease = kLease, .place = kLease, .patience = milliseconds(100)});
  const int file = open(argv[6], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  Player player(**domain, file, static_cast<uint32_t>(std::atoi(argv[4])));
  while (Now() < end) {
    player.Play();
  }
  close(file);
  return 0;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 7 ? oncemq::testing::Main(argv) : 2;
}
