// SPDX-License-Identifier: Apache-2.0
// Turns SIGINT and SIGTERM into a stop token. Call it first in main(): threads that are made later
// leave these signals to the one that waits for them.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

inline std::stop_token StopAtSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread([stop, signals]() mutable {
    int received = 0;
    sigwait(&signals, &received);
    stop.request_stop();
  }).detach();
  return stop.get_token();
}
