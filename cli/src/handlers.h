// SPDX-License-Identifier: Apache-2.0
// The handlers that the command brings along, to watch a topic with: they have no effect that could
// be doubled but a line of output. Never a payload.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "oncemq/framework/handler.h"

namespace oncemq {

// What `print` writes of a message: one JSON object and a line feed, with `id`, or `id_hex` where
// the id is no plain text: for `window show --hex`. `uncertain` is there where it is true.
std::string PrintedLine(std::string_view id, std::string_view topic, int32_t partition,
                        int64_t offset, bool uncertain = false);

// One such line for each message, on standard output. `on_closed` is called when nobody reads it
// any more.
Handler PrintHandler(std::function<void()> on_closed);

// Answers Done and does nothing: the report at the end has the sums.
Handler CountHandler();

}  // namespace oncemq
