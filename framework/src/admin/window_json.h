// SPDX-License-Identifier: Apache-2.0
// What a window keeps, as the admin protocol and the command say it (docs/formats.md).
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/dedup/store_stat.h"

namespace oncemq {

// What one id names there.
std::string IdsText(const WindowCapabilities& window);
nlohmann::ordered_json StatAsJson(const StoreStat& stat);
// The first of them, as far as one answer holds: then `more` is true.
nlohmann::ordered_json UncertainAsJson(const std::vector<UncertainRecord>& records);
nlohmann::ordered_json MarkerAsJson(std::string_view id, const MarkerView& view);

}  // namespace oncemq
