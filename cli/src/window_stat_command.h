// SPDX-License-Identifier: Apache-2.0
// oncemq window stat: what a window holds, store by store.
#pragma once

#include <string>

#include "query_window.h"

namespace oncemq {

// The exit code: kExitDone when all stores could be looked at.
int WindowStatCommand(const WindowTarget& target, bool json);

// One store, for people. Any JSON gives a text.
std::string StoreText(const nlohmann::ordered_json& store);

}  // namespace oncemq
