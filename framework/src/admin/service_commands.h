// SPDX-License-Identifier: Apache-2.0
// The commands that every running service answers: "status", "explain guarantee", "window show".
// docs/formats.md has their arguments and results.
//
// Thread safety: as AdminCommands; the runtime and the window answer on any thread.
#pragma once

#include "admin_commands.h"
#include "oncemq/framework/admin.h"

namespace oncemq {

// What `subject` points to outlives the commands.
void AddServiceCommands(AdminCommands& commands, const AdminSubject& subject);

}  // namespace oncemq
