// SPDX-License-Identifier: Apache-2.0
// oncemq run: a service from a file, with one of the handlers that the command brings along, until
// it is asked to stop. By default it watches (watch.h), and the service misses no message.
#pragma once

#include <string>

namespace oncemq {

struct RunArguments {
  std::string config;           // the service file
  std::string handler;          // print or count; must be said
  bool json = false;            // the report at the end as one JSON object
  bool only_new = false;        // a watch begins with the messages that arrive from now on
  bool takes_messages = false;  // no watch: the service's own group, window and socket
};

// The exit code.
int RunCommand(const RunArguments& arguments);

}  // namespace oncemq
