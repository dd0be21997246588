// SPDX-License-Identifier: Apache-2.0
#include "shifted_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

thread_local time_t shift = 0;

timespec Shifted(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  now.tv_sec += clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? shift : 0;
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  *now = Shifted(clock);
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  const timespec shifted = Shifted(CLOCK_REALTIME);
  *now = {shifted.tv_sec, shifted.tv_nsec / 1'000};
  return 0;
}

time_t time(time_t* now) noexcept {
  const time_t seconds = Shifted(CLOCK_REALTIME).tv_sec;
  if (now != nullptr) {
    *now = seconds;
  }
  return seconds;
}

}  // extern "C"

namespace oncemq::testing {

void ShiftWallClock(int64_t seconds) {
  shift = seconds;
}

int64_t SecondsOfTheProcess() {
  return time(nullptr);
}

}  // namespace oncemq::testing
