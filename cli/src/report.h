// SPDX-License-Identifier: Apache-2.0
// The closing words of a run: what became of its deliveries, and whether the sums add up.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "oncemq/framework/runtime.h"

namespace oncemq {

// The last line is "verdict: OK", "verdict: FAILED (...)", "verdict: STOPPED (...)" where a
// partition was stopped, or "verdict: NONE (...)" where none has begun.
std::string ReportText(const RunReport& report);
// One object on one line, without its line feed.
std::string ReportJson(const RunReport& report);

// Of a run that `signal` asked to stop (0: none did).
int ExitCodeOf(const RunReport& report, int signal);

}  // namespace oncemq
