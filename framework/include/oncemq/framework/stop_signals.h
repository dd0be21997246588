// SPDX-License-Identifier: Apache-2.0
// StopSignals: SIGINT and SIGTERM as the stop token of a run. One that comes kTogether after the
// first, or later, ends the process at once, with kEndedAtOnce and a line in the log; nothing is
// given back then. Sooner it is taken for the same one: `timeout` and a terminal send to the
// process and to its group. SIGUSR1 is taken and ignored.
//
//   StopSignals signals;   // first of all in main()
//   ... (*runtime)->Run(signals.token());
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

#include "oncemq/base/clock.h"

namespace oncemq {

// Make it before any other thread: the signals are blocked from then on, in every thread that is
// started later, and only its own thread takes them.
//
// Thread safety: token and received from any thread.
class StopSignals {
 public:
  static constexpr milliseconds kTogether{1'000};
  static constexpr int kEndedAtOnce = 8;  // the exit code

  // `clock` outlives it.
  explicit StopSignals(const Clock& clock = SystemClock::Instance());
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // Asks to stop without a signal.
  void Stop() { stop_.request_stop(); }
  // The number of the signal that asked to stop; 0: none did.
  int received() const { return received_; }

 private:
  void Listen();
  void Take(int number);

  const Clock& clock_;
  BootTime first_{};
  std::stop_source stop_;
  std::atomic<int> received_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace oncemq
