// SPDX-License-Identifier: Apache-2.0
// oncemq check: reads a service file, says everything that is wrong with it, or what it means. Asks
// no broker.
#pragma once

#include <string>

namespace oncemq {

// Prints to standard output, errors to standard error; the exit code.
int CheckCommand(const std::string& config, bool json);

}  // namespace oncemq
