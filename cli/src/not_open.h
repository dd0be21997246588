// SPDX-License-Identifier: Apache-2.0
// Of what a service answers about its window: the partitions whose stores it has not opened.
//
// Thread safety: a pure function.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace oncemq {

// A line for each, with what it waits for; empty where there is none, or it is not said.
std::string NotOpenText(const nlohmann::ordered_json& answer);

}  // namespace oncemq
