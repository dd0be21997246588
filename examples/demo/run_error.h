// SPDX-License-Identifier: Apache-2.0
// The errors of a run of the demo.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <utility>

#include "oncemq/base/result.h"

namespace oncemq::demo {

// The run cannot go on as told.
inline Error RunError(Code code, std::string why) {
  return {code, Effect::kNone, std::move(why)};
}

}  // namespace oncemq::demo
