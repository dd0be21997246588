// SPDX-License-Identifier: Apache-2.0
// ONCEMQ_CHECK(condition, "why it must hold"): always on, for our own bugs only. Never for what a
// broker, a store or a user does: those are Results. A violated check prints file, line and reason,
// then aborts: safe halt beats wrong.
#pragma once

namespace oncemq {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);

}  // namespace oncemq

#define ONCEMQ_CHECK(condition, why)                              \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::oncemq::CheckFailed(__FILE__, __LINE__, #condition, why); \
    }                                                             \
  } while (false)
