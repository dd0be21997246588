// SPDX-License-Identifier: Apache-2.0
// The other end: asks a running service one thing.
//
// Thread safety: any thread. Blocks: for `within` at most.
#pragma once

#include <string>

#include "admin_commands.h"
#include "oncemq/base/clock.h"

namespace oncemq {

// The result. kNotFound: there is no such socket; kUnavailable: nobody answers there; kTimeout: not
// in time; kCorrupt: it is no service; kInvalid: the service refuses, or the request cannot be
// sent.
Result<nlohmann::ordered_json> QueryAdmin(const std::string& path, const AdminRequest& request,
                                          milliseconds within, const Clock& clock);

}  // namespace oncemq
