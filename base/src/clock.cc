// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/clock.h"

#include <time.h>

#include <thread>

namespace oncemq {
namespace {

int64_t Micros(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000 + ts.tv_nsec / 1000;
}

}  // namespace

BootTime SystemClock::Boot() const {
  return BootTime(microseconds(Micros(CLOCK_BOOTTIME)));
}

WallTime SystemClock::Wall() const {
  return WallTime{Micros(CLOCK_REALTIME)};
}

int64_t SystemClock::Tick() const {
  // The kernel's timer, 100 to 1,000 times a second: a quarter of the cost of a precise clock.
  return Micros(CLOCK_MONOTONIC_COARSE);
}

const SystemClock& SystemClock::Instance() {
  // Never destroyed: the log writer asks for the time until the last moment of the process.
  static const auto* clock = new SystemClock;
  return *clock;
}

void SleepFor(milliseconds duration) {
  std::this_thread::sleep_for(duration);
}

}  // namespace oncemq
