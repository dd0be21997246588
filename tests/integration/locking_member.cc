// SPDX-License-Identifier: Apache-2.0
// A member as a process of its own, made to be paused while its handler holds a name:
// locking_member BROKERS GROUP TOPIC DIR NUMBER
// Its names are elided, its window lives and dies with it, and its target checks fences. Each call
// of its handler raises the target's fence first and stores its effect then; in between the call
// for id 1 waits for SIGUSR1. SIGTERM: leaves in order, and ends with 0 when its verdict adds up.
#include <csignal>
#include <cstdlib>
#include <latch>
#include <string>

#include "fenced_target.h"
#include "oncemq/dedup/memory_window.h"
#include "run_verdict.h"
#include "running_member.h"

namespace oncemq::testing {
namespace {

constexpr uint32_t kWaitsAt = 1;

class LockingMember {
 public:
  LockingMember(const std::filesystem::path& dir, uint32_t number)
      : number_(number), target_(dir / "target") {}

  Outcome Handle(Context& context) {
    const auto id = static_cast<uint32_t>(std::stoul(std::string(context.id())));
    const auto lease = context.Lock("account/42");
    if (!lease || !*lease) {
      return Retry{};
    }
    target_.Raise(number_, id, **lease);
    if (id == kWaitsAt) {
      may_go_on_.wait();
    }
    target_.Store(number_, id, **lease);
    return Done{};  // also where it was refused: the runtime knows better
  }

  // Until SIGTERM.
  void Obey(const sigset_t& signals) {
    for (int signal = 0; signal != SIGTERM;) {
      sigwait(&signals, &signal);
      if (signal == SIGUSR1) {
        may_go_on_.count_down();
      }
    }
  }

  int Judge(const RunReport& report) {
    target_.End(number_, report.counts.applied);
    return VerdictOf(report);
  }

 private:
  const uint32_t number_;
  FencedTarget target_;
  std::latch may_go_on_{1};
};

int Main(char** words) {
  // Blocked in every thread that is made later; only Obey() takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  LockingMember locking(words[4], static_cast<uint32_t>(std::atoi(words[5])));
  const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  RuntimeOptions options = QuickOptions(words[1], words[2], words[3]);
  options.core.session_timeout = milliseconds(3'000);
  options.core.session_margin = milliseconds(750);
  options.locks = {.elided = true, .names_partition_owned = true, .effects_check_fences = true};
  RunningMember member(options, window.get(),
                       [&](const Message&, Context& context) { return locking.Handle(context); });
  locking.Obey(signals);
  return locking.Judge(member.Stop());
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 6 ? oncemq::testing::Main(argv) : 2;
}
