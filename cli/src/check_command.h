// SPDX-License-Identifier: Apache-2.0
// oncemq check: reads a service file, says everything that is wrong with it, or what it means. Asks
// no broker; of the stores only the database of a window in PostgreSQL, which it opens.
#pragma once

#include <string>

namespace oncemq {

struct CheckArguments {
  std::string config;
  bool json = false;
  bool offline = false;  // the database is not asked
};

// Prints to standard output, errors to standard error; the exit code.
int CheckCommand(const CheckArguments& arguments);

}  // namespace oncemq
