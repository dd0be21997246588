// SPDX-License-Identifier: Apache-2.0
// Those fields of the admin command `status` that tell of standstills (docs/formats.md).
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "oncemq/framework/runtime.h"

namespace oncemq {

nlohmann::ordered_json OpenMessageAsJson(const OpenMessage& message,
                                         std::optional<milliseconds> next_try);

// Adds `log_end`, `lag`, `retrying`, `unmoved_ms` and `oldest` of a partition.
void AddHoldups(const PartitionReport& report, nlohmann::ordered_json& out);

// Adds `retrying`, `lag`, `missing_topics`, `unreached_ms` and `age_ms` of the service.
void AddHoldups(const RunReport& report, nlohmann::ordered_json& out);

}  // namespace oncemq
