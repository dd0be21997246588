// SPDX-License-Identifier: Apache-2.0
// Text from outside as it may stand in a message: short, and without a byte that paints a terminal
// or ends a line.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// What somebody wrote, fit to be shown in an error: short, on one line, between backquotes.
std::string Quoted(std::string_view text);

}  // namespace oncemq
