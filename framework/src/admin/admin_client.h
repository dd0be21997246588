// SPDX-License-Identifier: Apache-2.0
// The other end: asks a running service one thing.
//
// **Thread safety:** any thread. Blocks for `within` at most.
#pragma once

#include <string>

#include "admin_commands.h"
#include "oncemq/base/clock.h"

namespace oncemq {

// The result, or the refusal of the service with its code. Else kNotFound: no such socket.
// kUnavailable: no answer there. kTimeout: not in time. kCorrupt: no service of ours.
Result<nlohmann::ordered_json> QueryAdmin(const std::string& path, const AdminRequest& request,
                                          milliseconds within);

}  // namespace oncemq
