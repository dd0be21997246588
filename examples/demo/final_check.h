// SPDX-License-Identifier: Apache-2.0
// The last step: collects what the run left behind, judges it and prints the findings.
//
// Thread safety: the main thread.
#pragma once

#include "oncemq/base/result.h"
#include "options.h"
#include "screen.h"
#include "theatre.h"

namespace oncemq::demo {

// Prints the verdict as its last line. An error: the evidence can't be had.
Result<bool> CheckAll(const Theatre& theatre, Screen& screen, const DemoOptions& options);

}  // namespace oncemq::demo
