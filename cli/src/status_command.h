// SPDX-License-Identifier: Apache-2.0
// oncemq status: what a running service is doing.
#pragma once

#include "ask_service.h"

namespace oncemq {

// The exit code: kExitDone when the service answered, whatever it said.
int StatusCommand(const ServicePlace& place, bool json);

// What it said, for people. Any JSON gives a text.
std::string StatusText(const nlohmann::ordered_json& status);

}  // namespace oncemq
