// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// The text, with U+FFFD in place of each byte that belongs to no character.
std::string ValidUtf8(std::string_view bytes);

}  // namespace oncemq
