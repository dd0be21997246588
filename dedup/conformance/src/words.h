// SPDX-License-Identifier: Apache-2.0
// How GoogleTest prints the window's words in a failure.
#pragma once

#include <ostream>

#include "oncemq/dedup/window.h"

namespace oncemq {

inline void PrintTo(ClaimVerdict answer, std::ostream* out) {
  *out << ToString(answer);
}
inline void PrintTo(MarkerState state, std::ostream* out) {
  *out << ToString(state);
}
inline void PrintTo(MarkerChange change, std::ostream* out) {
  *out << (change == MarkerChange::kMade ? "made" : "fenced");
}

}  // namespace oncemq
