// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/stop_signals.h"

#include <signal.h>
#include <unistd.h>

namespace oncemq {
namespace {

constexpr int kEndedBySignal = 128;  // plus its number, as shells have it
constexpr int kEnough = SIGUSR1;     // wakes the listener; only with ending_ it is ours

sigset_t Listened() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, kEnough);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = Listened();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Listen(); });
}

StopSignals::~StopSignals() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kEnough);
  thread_.join();
}

void StopSignals::Listen() {
  const sigset_t set = Listened();
  for (int number = 0; sigwait(&set, &number) == 0;) {
    // Anybody can send this one. A listener that ended then would leave SIGTERM blocked for good.
    if (number == kEnough) {
      if (ending_) {
        return;
      }
      continue;
    }
    if (received_ != 0) {
      _exit(kEndedBySignal + number);
    }
    received_ = number;
    stop_.request_stop();
  }
}

}  // namespace oncemq
