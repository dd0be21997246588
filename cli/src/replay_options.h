// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "park_options.h"

namespace oncemq {

void AddReplay(CLI::App& app, CommandActions& actions);

}  // namespace oncemq
