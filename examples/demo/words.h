// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace oncemq::demo {

std::string Grouped(int64_t number);  // 22000 -> "22,000"
std::string Money(int64_t cents);     // 123456 -> "1,234.56"

}  // namespace oncemq::demo
