// SPDX-License-Identifier: Apache-2.0
// oncemq gate show and oncemq gate resolve: an operation of a gate whose window is on a server.
#pragma once

#include <string>

namespace oncemq {

struct GateArguments {
  std::string config;  // a service file with that window; or the next five
  std::string at;
  std::string schema;  // of PostgreSQL
  std::string prefix;  // of keys in Redis
  std::string scope;
  std::string level = "opaque";
  std::string ref;
  bool json = false;
  bool applied = false;  // of resolve: one of both
  bool not_applied = false;
  std::string why;
  std::string audit_file;
};

// The exit code; kExitFailed where nothing is known of the operation.
int GateShowCommand(const GateArguments& arguments);
// kExitFailed where it is finished, unknown, or held by a caller.
int GateResolveCommand(const GateArguments& arguments);

}  // namespace oncemq
