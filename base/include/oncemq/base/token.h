// SPDX-License-Identifier: Apache-2.0
// Token: names one claim attempt. Random per process in its upper half, counted in its lower half,
// so that no two attempts of any two processes share one. Idempotence rests on it: a retry after a
// lost reply sends the same token and recognises itself; nobody else's retry can.
#pragma once

#include <compare>
#include <cstdint>

namespace oncemq {

struct Token {
  uint64_t process = 0;
  uint64_t attempt = 0;
  bool empty() const { return process == 0 && attempt == 0; }
  friend auto operator<=>(const Token&, const Token&) = default;
};

}  // namespace oncemq
