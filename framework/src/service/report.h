// SPDX-License-Identifier: Apache-2.0
// The closing words of a run: the outcome of its deliveries, and whether the sums add up.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/framework/runtime.h"

namespace oncemq {

// The last line is "verdict: OK", "verdict: FAILED (...)", "verdict: STOPPED (...)" where a
// partition was stopped, or "verdict: NONE (...)" where none has begun.
std::string ReportText(const RunReport& report);
// One object on one line, without its line feed.
std::string ReportJson(const RunReport& report);

// Whether this one of RunReport::stops is of the partition and for this reason (empty: the
// partition is not stopped), so that a line of the partition says it already.
bool IsStopOf(std::string_view stop, const std::string& topic, const std::string& partition,
              const std::string& why);

// Of a run that `signal` asked to stop (0: none did).
int ExitCodeOf(const RunReport& report, int signal);

}  // namespace oncemq
