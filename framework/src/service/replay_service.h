// SPDX-License-Identifier: Apache-2.0
// `replay`, for a program and for `oncemq`.
//
// **Thread safety:** one call, from the thread of main().
#pragma once

#include "oncemq/framework/run_service.h"
#include "replay_arguments.h"

namespace oncemq {

// Judges the set of the arguments, and tells it on standard output. Nothing changes but the
// directory of the replay, if there is one. Returns an exit code of exit_code.h.
int JudgeService(const ReplayArguments& arguments, WindowOpener open_window);

}  // namespace oncemq
