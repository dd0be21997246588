// SPDX-License-Identifier: Apache-2.0
// The lines of `oncemq status` for things that do not move, and the reasons for a probe to fail.
// Any JSON gives a text: another version of the service may answer.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"

namespace oncemq {

// Long enough for a rebalance after the death of a member, with the default session.
inline constexpr milliseconds kStalledAfter{60'000};

// Why a probe should fail, a line for each reason; empty: all moves, or has nothing to do.
// A partition is stopped, or nothing of it was finished for `after` though there is something to
// do; a topic is missing or no broker has answered for as long; the service has ended by itself, or
// has told nothing for as long.
std::vector<std::string> Standstills(const nlohmann::ordered_json& status, milliseconds after);

// An open message, without the end of a line.
std::string OpenMessageText(const nlohmann::ordered_json& message);

// A line for the message that holds up a partition; empty: none does.
std::string HeldText(const nlohmann::ordered_json& partition);

// Lines for retries, the backlog and missing topics of the whole service.
std::string HoldupsText(const nlohmann::ordered_json& status);

// A line for brokers of which none answers; empty: one does.
std::string UnreachedText(const nlohmann::ordered_json& status);

// Parts of such an answer. The number is 0 and the list empty where it has none.
int64_t NumberOf(const nlohmann::ordered_json& object, const char* key);
bool HasNumber(const nlohmann::ordered_json& object, const char* key);
const nlohmann::ordered_json& ListOf(const nlohmann::ordered_json& object, const char* key);
// "payments [3]"
std::string PartitionNameOf(const nlohmann::ordered_json& partition);

}  // namespace oncemq
