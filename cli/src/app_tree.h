// SPDX-License-Identifier: Apache-2.0
// The commands, options and values of a CLI11 application, as a shell completes them.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "completion.h"

namespace oncemq {

// The application first, then each command before its own commands.
std::vector<CompletedCommand> TreeOf(const CLI::App& app);

}  // namespace oncemq
