// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "park_options.h"

namespace oncemq {

void AddMetrics(CLI::App& app, CommandActions& actions);

}  // namespace oncemq
