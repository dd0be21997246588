// SPDX-License-Identifier: Apache-2.0
// Fences as people read and write them: the token; behind its epoch and a point, where there is
// one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/fence.h"

namespace oncemq {

// "1763", "3.1763"
std::string ToString(const Fence& fence);
// Nothing: that is no fence.
std::optional<Fence> ParseFence(std::string_view text);

}  // namespace oncemq
