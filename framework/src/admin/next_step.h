// SPDX-License-Identifier: Apache-2.0
// The next step of an operator, in a sentence, for `oncemq explain`.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "oncemq/framework/runtime.h"

namespace oncemq {

inline constexpr std::string_view kAskItsOwner =
    "this member does not have the partition: ask the one that `oncemq group status` names";

std::string NextStepOf(const PartitionReport& one);

// From the answer of `explain id`, without its own `next`.
std::string NextStepOf(const nlohmann::ordered_json& id);

}  // namespace oncemq
