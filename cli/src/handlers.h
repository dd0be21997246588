// SPDX-License-Identifier: Apache-2.0
// The handlers that the command brings along, to watch a topic with: they have no effect that could
// be doubled but a line of output. Never a payload.
#pragma once

#include <functional>
#include <string>

#include "oncemq/framework/handler.h"

namespace oncemq {

// One JSON object a line on standard output: id, topic, partition, offset. `on_closed` is called
// when nobody reads it any more.
Handler PrintHandler(std::function<void()> on_closed);

// Answers Done and does nothing: the report at the end has the sums.
Handler CountHandler();

}  // namespace oncemq
