// SPDX-License-Identifier: Apache-2.0
// `oncemq window uncertain`: the messages whose effect may have happened twice.
#pragma once

#include <string>

#include "query_window.h"

namespace oncemq {

struct WindowUncertainArguments {
  std::string since;  // "24h" before now, or a time of RFC 3339; empty: all
  bool json = false;
};

// Returns the exit code.
int WindowUncertainCommand(const WindowTarget& target, const WindowUncertainArguments& arguments);

}  // namespace oncemq
