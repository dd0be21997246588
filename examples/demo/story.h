// SPDX-License-Identifier: Apache-2.0
// The story that the demo tells, from the first payment to the verdict.
//
// Thread safety: the main thread.
#pragma once

#include "options.h"

namespace oncemq::demo {

// Returns the exit code: 0 verdict OK, 4 verdict FAILED, 128 + the signal that ended it.
int RunStory(const DemoOptions& options);

}  // namespace oncemq::demo
