// SPDX-License-Identifier: Apache-2.0
// oncemq explain partition: the holder of a partition of a running service.
#pragma once

#include <string>

#include "query_service.h"

namespace oncemq {

// `name` is TOPIC/NUMBER, or TOPIC [NUMBER] as other commands print it. Returns the exit code,
// kExitFailed where the member does not have it.
int ExplainPartitionCommand(const ServiceTarget& target, const std::string& name, bool json);

// For people. Any JSON gives a text.
std::string PartitionExplainedText(const nlohmann::ordered_json& answer);

}  // namespace oncemq
