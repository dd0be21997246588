// SPDX-License-Identifier: Apache-2.0
// A judged or run replay in words.
//
// **Thread safety:** pure functions.
#pragma once

#include <string>

#include "oncemq/framework/replay.h"

namespace oncemq {

ReplayCounts TotalOf(const ReplayTable& table);

// The set, the notices, and a row for each topic and day, with the columns that count anything.
std::string ReplayText(const ReplaySet& set, const ReplayTable& table);
// One object on one line.
std::string ReplayJson(const ReplaySet& set, const ReplayTable& table);

}  // namespace oncemq
