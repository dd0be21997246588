// SPDX-License-Identifier: Apache-2.0
// Who changed something with a command: what is on standard error is gone with the terminal.
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// One line of the log, as the admin socket has it, and the same to the system's log (syslog(3),
// LOG_AUTHPRIV, as `oncemq`). Where nobody keeps one, as in most containers, the first is all there
// is: nothing tells the two apart.
void AuditLocks(std::string_view command, const std::string& name, const std::string& fence,
                std::string_view result);
// Likewise of an id in a window. `why`: as its operator says it.
void AuditWindow(std::string_view command, const std::string& id, const std::string& why,
                 std::string_view result);

// A change, said before it and behind it: whoever is killed in between leaves a trace, too. `said`:
// what came of it, in words.
template <class Change, class Said>
auto Audited(std::string_view command, const std::string& name, const std::string& fence,
             const Change& change, const Said& said) {
  AuditLocks(command, name, fence, "begins");
  auto done = change();
  AuditLocks(command, name, fence, said(done));
  return done;
}

}  // namespace oncemq
