// SPDX-License-Identifier: Apache-2.0
// The commands "explain partition" and "explain id" of a running service (docs/formats.md).
//
// Thread safety: as AdminCommands.
#pragma once

#include "admin_commands.h"
#include "oncemq/framework/admin.h"

namespace oncemq {

// The parts of `subject` outlive the commands.
void AddExplainCommands(AdminCommands& commands, const AdminSubject& subject);

}  // namespace oncemq
