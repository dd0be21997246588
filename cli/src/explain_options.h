// SPDX-License-Identifier: Apache-2.0
// The options of `oncemq explain`.
#pragma once

#include "park_options.h"

namespace oncemq {

void AddExplain(CLI::App& app, CommandActions& actions);

}  // namespace oncemq
