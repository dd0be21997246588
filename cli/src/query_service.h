// SPDX-License-Identifier: Apache-2.0
// Asks a running service, at the socket that was named or that a service file names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "admin_commands.h"

namespace oncemq {

// Where the service is: exactly one of them.
struct ServiceTarget {
  std::string config;  // a service file with `admin.socket`
  std::string socket;
};

struct ServiceAnswer {
  int code = 0;
  std::string socket;  // that was asked
  nlohmann::ordered_json result;
  std::string why;  // without a result: fit for a terminal
};

// The exit code of a command whose question ended with this error.
int ExitCodeOfQuery(const Error& error);

// Says nothing itself.
ServiceAnswer QuerySocket(const std::string& socket, const AdminRequest& request);

// Tells on standard error why there is no result.
ServiceAnswer QueryService(const ServiceTarget& target, const AdminRequest& request);

}  // namespace oncemq
