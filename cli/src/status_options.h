// SPDX-License-Identifier: Apache-2.0
// Arguments of `oncemq status` and `oncemq group`.
#pragma once

#include <CLI/CLI.hpp>

#include "park_options.h"

namespace oncemq {

void AddStatus(CLI::App& app, CommandActions& actions);
void AddGroup(CLI::App& app, CommandActions& actions);

}  // namespace oncemq
