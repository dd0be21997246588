// SPDX-License-Identifier: Apache-2.0
// What is counted, by the name that people and programs read: of a run's end and of one that goes
// on alike.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/framework/runtime.h"

namespace oncemq {

using Terms = std::vector<std::pair<std::string_view, int64_t>>;

// Those that add up to the deliveries, and to the offsets below the frontier (rule 51).
Terms TermsOf(const DeliveryCounts& counts);
Terms TermsOf(const Totals& totals);
// Below a count of uncertain ones that is not zero.
inline constexpr char kUncertainMeans[] =
    "uncertain is an upper bound: at most as many messages may have had their effect again; "
    "`oncemq "
    "window uncertain` lists those that ran, with their attempts, as long as the store of the "
    "window "
    "has its record\n";

// What is reported beside them.
Terms AttributesOf(const RunReport& report);

// A space in a name is a low line.
nlohmann::ordered_json TermsAsJson(const Terms& terms);

}  // namespace oncemq
