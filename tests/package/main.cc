// SPDX-License-Identifier: Apache-2.0
// What a stranger would write first: open a window in memory and claim one id twice.
#include <array>
#include <cstdio>

#include "oncemq/base/clock.h"
#include "oncemq/dedup/memory_window.h"

int main() {
  auto window =
      oncemq::OpenMemoryWindow({.level = oncemq::Level::kGuarded}, oncemq::SystemClock::Instance());
  if (!window) {
    std::fprintf(stderr, "%s\n", window.error().message.c_str());
    return 1;
  }
  std::array<oncemq::ClaimRequest, 1> first{{{.id = "payment-1", .token = {1, 1}}}};
  std::array<oncemq::ClaimRequest, 1> second{{{.id = "payment-1", .token = {1, 2}}}};
  std::array<oncemq::ClaimAnswer, 1> answer;
  bool once = (*window)->Claim(first, answer) && answer[0].answer == oncemq::ClaimVerdict::kGranted;
  once = once && (*window)->Claim(second, answer) &&
         answer[0].answer == oncemq::ClaimVerdict::kInFlight;
  std::puts(once ? "granted once" : "not once");
  return once ? 0 : 1;
}
