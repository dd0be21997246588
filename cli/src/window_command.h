// SPDX-License-Identifier: Apache-2.0
// oncemq window: looks into the window of a running service.
#pragma once

#include "ask_service.h"

namespace oncemq {

struct WindowShowArguments {
  std::string id;
  bool hex = false;  // the id is its bytes in hex digits
  bool json = false;
};

// What the window keeps of one id. The exit code: kExitDone also when it keeps nothing.
int WindowShowCommand(const ServicePlace& place, const WindowShowArguments& arguments);

}  // namespace oncemq
