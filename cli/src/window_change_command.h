// SPDX-License-Identifier: Apache-2.0
// oncemq window forget, gc and shorten: changes of a window by an operator, audited where ids may
// become new.
#pragma once

#include <string>

namespace oncemq {

struct WindowChangeArguments {
  std::string config;
  std::string id;    // of forget
  bool hex = false;  // the id is its bytes in hex digits
  std::string why;   // of forget and shorten, for the log
  bool json = false;
};

// The exit code: kExitFailed where nothing is known of the id, or a claim of it is open.
int WindowForgetCommand(const WindowChangeArguments& arguments);
// kExitUsage also for a file whose times are shorter than those in force.
int WindowGcCommand(const WindowChangeArguments& arguments);
// `remember` and `skew` of the file are in force from now on, for all processes of the scope.
int WindowShortenCommand(const WindowChangeArguments& arguments);

}  // namespace oncemq
