// SPDX-License-Identifier: Apache-2.0
// The name of a holder or waiter, as people read it in a store.
#pragma once

#include <cstddef>

namespace oncemq {

inline constexpr size_t kLongestKeptWho = 512;  // bytes; the rest of a longer name is cut off

}  // namespace oncemq
