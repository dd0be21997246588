// SPDX-License-Identifier: Apache-2.0
// The next step of an operator, in a sentence, for `oncemq explain`.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oncemq/framework/runtime.h"

namespace oncemq {

std::string NextStepOf(const PartitionReport& one);

// For a partition that this member does not have. `topics` as AdminSubject::topics.
std::string NextStepElsewhere(const RunReport& report, const std::vector<std::string>& topics,
                              const std::string& topic);

// From the answer of `explain id`, without its own `next`.
std::string NextStepOf(const nlohmann::ordered_json& id);

}  // namespace oncemq
