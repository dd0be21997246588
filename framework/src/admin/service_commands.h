// SPDX-License-Identifier: Apache-2.0
// The commands that every running service answers: "status", "guarantee", "window show".
// docs/formats.md has their arguments and results.
// Thread safety: as AdminCommands; the runtime and the window answer on any thread.
#pragma once

#include "admin_commands.h"
#include "oncemq/framework/admin.h"

namespace oncemq {

// What `subject` points to outlives the commands.
void AddServiceCommands(AdminCommands& commands, const AdminSubject& subject);

// The bytes of hex digits in pairs.
std::string HexOfBytes(std::string_view bytes);
std::optional<std::string> BytesOfHex(std::string_view text);

}  // namespace oncemq
