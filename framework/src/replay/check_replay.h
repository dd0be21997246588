// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oncemq/dedup/window.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

// kInvalid: the service can't be replayed from outside, and why. nullptr: no window.
Status CheckReplay(const RuntimeOptions& options, Window* window);

}  // namespace oncemq
