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

BootTime SystemClock::Boot() const { return BootTime(microseconds(Micros(CLOCK_BOOTTIME))); }

WallTime SystemClock::Wall() const { return WallTime{Micros(CLOCK_REALTIME)}; }

const SystemClock& SystemClock::Instance() {
  static const SystemClock clock;
  return clock;
}

void SleepFor(milliseconds duration) { std::this_thread::sleep_for(duration); }

}  // namespace oncemq
