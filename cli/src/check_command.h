// SPDX-License-Identifier: Apache-2.0
// oncemq check: reads a service file, says everything that is wrong with it, or what it means. Asks
// no broker; of the stores only the server of a window in PostgreSQL or Redis, which it opens.
#pragma once

#include <string>

namespace oncemq {

struct CheckArguments {
  std::string config;
  bool json = false;
  bool offline = false;  // the server of the window is not asked
};

// Prints to standard output, errors to standard error; the exit code.
int CheckCommand(const CheckArguments& arguments);

}  // namespace oncemq
