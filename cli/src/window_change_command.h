// SPDX-License-Identifier: Apache-2.0
// oncemq window forget and oncemq window gc: changes of a window in a server, audited.
#pragma once

#include <string>

namespace oncemq {

struct WindowChangeArguments {
  std::string config;
  std::string id;    // of forget
  bool hex = false;  // the id is its bytes in hex digits
  std::string why;   // of forget, for the log
  bool json = false;
};

// The exit code: kExitFailed where nothing is known of the id, or a claim of it is open.
int WindowForgetCommand(const WindowChangeArguments& arguments);
int WindowGcCommand(const WindowChangeArguments& arguments);

}  // namespace oncemq
