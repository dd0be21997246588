// SPDX-License-Identifier: Apache-2.0
// Finds what somebody meant to write.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace oncemq {

// Fewest single-character insertions, removals, changes and swaps of neighbours between two names.
size_t EditDistance(std::string_view a, std::string_view b);

// "; did you mean `group`?" for the nearest name, or nothing where none is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> names);

}  // namespace oncemq
