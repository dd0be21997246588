// SPDX-License-Identifier: Apache-2.0
// A thread whose clock on the wall is fast or slow, as in a process of another machine. For
// programs that have shifted_clock.cc among their sources: its clock functions come before libc's.
#pragma once

#include <cstdint>

namespace oncemq::testing {

// By so many seconds, for the calling thread; 0: as the machine's.
//
// Thread safety: any thread.
void ShiftWallClock(int64_t seconds);

// time(), as any library sees it.
int64_t SecondsOfTheProcess();

// Makes the call with such a clock.
template <class Call>
auto WithClock(int64_t seconds, Call call) {
  ShiftWallClock(seconds);
  auto answer = call();
  ShiftWallClock(0);
  return answer;
}

}  // namespace oncemq::testing
