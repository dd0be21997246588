// SPDX-License-Identifier: Apache-2.0
// oncemq run: a service from a file, with one of the handlers that the command brings along, until
// it is asked to stop.
#pragma once

#include <string>

namespace oncemq {

struct RunArguments {
  std::string config;             // the service file
  std::string handler = "print";  // print or count
  bool json = false;              // the report at the end as one JSON object
};

// The exit code.
int RunCommand(const RunArguments& arguments);

}  // namespace oncemq
