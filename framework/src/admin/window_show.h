// SPDX-License-Identifier: Apache-2.0
// The look of the admin commands into the window of a running service.
//
// Thread safety: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "oncemq/framework/admin.h"

namespace oncemq {

// The only argument is `id`, or `id_hex` for any bytes.
Result<std::string> AskedId(const nlohmann::json& arguments);

// Adds the partitions without an open store here, as they have not begun. Each is added once.
void AddNotOpen(const RunReport& report, nlohmann::ordered_json& out);

// As the command `window show`.
Result<nlohmann::ordered_json> ShowId(const AdminSubject& subject, const std::string& id);

}  // namespace oncemq
