// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "admin_server.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/admin.h"
#include "service_commands.h"

namespace oncemq {

Result<std::unique_ptr<AdminSocket>> AdminSocket::Open(const AdminOptions& options,
                                                       AdminSubject subject) {
  if (subject.runtime == nullptr || options.connections == 0 ||
      options.deadline <= milliseconds(0) || options.deadline > std::chrono::hours(1)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "an admin socket needs a runtime to speak of, at least one connection, and a "
                 "deadline above zero and of an hour at most"};
  }
  auto listener = AdminListener::Open(options.socket);
  if (!listener) {
    return listener.error();
  }
  AdminCommands commands;
  AddServiceCommands(commands, subject);
  const uid_t service = geteuid();
  auto server = AdminServer::Start(*std::move(listener), std::move(commands),
                                   {options.deadline, options.connections,
                                    [service](uid_t who) { return MayQuery(who, service); }},
                                   SystemClock::Instance());
  if (!server) {
    return server.error();
  }
  std::error_code failed;  // the working directory is gone, as a rule
  const std::filesystem::path path = std::filesystem::absolute(options.socket, failed);
  if (subject.window != nullptr && !failed) {
    subject.window->SetAdminSocket(path);
  }
  Log(LogLevel::kInfo, "admin", "the service can be asked", {{"socket", options.socket}});
  return std::unique_ptr<AdminSocket>(*std::move(server));
}

}  // namespace oncemq
