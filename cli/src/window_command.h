// SPDX-License-Identifier: Apache-2.0
// oncemq window show: what a window keeps of one id.
#pragma once

#include <string>

#include "query_window.h"

namespace oncemq {

struct WindowShowArguments {
  std::string id;
  bool hex = false;  // the id is its bytes in hex digits
  bool json = false;
};

// The exit code: kExitDone also when it keeps nothing.
int WindowShowCommand(const WindowTarget& target, const WindowShowArguments& arguments);

}  // namespace oncemq
