// SPDX-License-Identifier: Apache-2.0
// Who changed something with a command: what is on standard error is gone with the terminal.
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// Said before the change and behind it: whoever is killed in between leaves a trace, too.
// One line of the log, as the admin socket has it, and the same to the system's log (syslog(3),
// LOG_AUTHPRIV, as `oncemq`). Where nobody keeps one, as in most containers, the first is all there
// is: nothing tells the two apart.
void AuditLocks(std::string_view command, const std::string& name, const std::string& fence,
                std::string_view result);

}  // namespace oncemq
