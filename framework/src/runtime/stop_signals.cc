// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <future>
#include <system_error>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr int kEnough = SIGUSR1;         // wakes the listener; only with ending_ it is ours
constexpr milliseconds kLogWithin{500};  // who asks twice does not wait for a log nobody reads

sigset_t Listened() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, kEnough);
  return set;
}

[[noreturn]] void EndAtOnce(int number) {
  std::promise<void> promise;
  const std::future<void> logged = promise.get_future();
  try {
    std::thread([number, &promise] {
      Log(LogLevel::kError, "runtime",
          "asked to stop again: the process ends at once, and gives nothing back",
          {{"signal", number}});
      StopLogging();  // writes it out
      promise.set_value();
    }).detach();
    static_cast<void>(logged.wait_for(kLogWithin));
  } catch (const std::system_error&) {  // no thread is left for a last word
  }
  _exit(StopSignals::kEndedAtOnce);
}

}  // namespace

StopSignals::StopSignals(const Clock& clock) : clock_(clock) {
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
    Take(number);
  }
}

void StopSignals::Take(int number) {
  const BootTime now = clock_.Boot();
  if (received_ == 0) {
    first_ = now;
    received_ = number;
    stop_.request_stop();
  } else if (now >= first_ + kTogether) {
    EndAtOnce(number);
  }
}

}  // namespace oncemq
