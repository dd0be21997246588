// SPDX-License-Identifier: Apache-2.0
#include "query_service.h"

#include <iostream>
#include <utility>

#include "admin_client.h"
#include "exit_code.h"
#include "oncemq/base/outage.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"

namespace oncemq {
namespace {

constexpr milliseconds kWithin{10'000};

Result<std::string> SocketOf(const ServiceTarget& target) {
  if (target.config.empty()) {
    return target.socket;
  }
  const Result<AdminOptions> admin = LoadAdmin(target.config);
  if (!admin) {
    return admin.error();
  }
  if (admin->socket.empty()) {
    return Error{Code::kInvalid, Effect::kNone,
                 target.config + ": `admin.socket` is not set, so the service cannot be asked"};
  }
  return admin->socket;
}

ServiceAnswer ReportServiceError(std::string why, int code) {
  std::cerr << why << "\n";
  return {code, {}, {}, std::move(why)};
}

}  // namespace

int ExitCodeOfQuery(const Error& error) {
  const bool no_service = IsTransient(error) || error.code == Code::kNotFound;
  return IsMisconfigured(error) ? kExitUsage : no_service ? kExitNoService : kExitFailed;
}

ServiceAnswer QuerySocket(const std::string& socket, const AdminRequest& request) {
  Result<nlohmann::ordered_json> result = QueryAdmin(socket, request, kWithin);
  if (!result) {
    return {ExitCodeOfQuery(result.error()), socket, {}, SafeText(result.error().message)};
  }
  return {kExitDone, socket, *std::move(result), {}};
}

ServiceAnswer QueryService(const ServiceTarget& target, const AdminRequest& request) {
  if (target.config.empty() == target.socket.empty()) {
    return ReportServiceError("say which service: by --socket PATH, or by its service file",
                              kExitUsage);
  }
  const Result<std::string> socket = SocketOf(target);
  if (!socket) {
    return ReportServiceError(socket.error().message, kExitUsage);
  }
  ServiceAnswer reply = QuerySocket(*socket, request);
  return reply.code == kExitDone ? reply : ReportServiceError(reply.why, reply.code);
}

}  // namespace oncemq
