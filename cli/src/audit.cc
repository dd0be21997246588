// SPDX-License-Identifier: Apache-2.0
#include "audit.h"

#include <syslog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "oncemq/base/log.h"
#include "safe_json.h"

namespace oncemq {

namespace {

// `key` names `detail`.
void Audit(std::string_view command, const std::string& name, const char* key,
           const std::string& detail, std::string_view result) {
  Log(LogLevel::kInfo, "admin", "change",
      {{"command", command},
       {"uid", getuid()},
       {"pid", getpid()},
       {"name", name},
       {key, detail},
       {"result", result}});
  const nlohmann::ordered_json line{
      {"command", command}, {"uid", getuid()}, {"name", name}, {key, detail}, {"result", result}};
  openlog("oncemq", LOG_PID, LOG_AUTHPRIV);
  syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s", SafeJson(line).c_str());
  closelog();
}

}  // namespace

void AuditLocks(std::string_view command, const std::string& name, const std::string& fence,
                std::string_view result) {
  Audit(command, name, "fence", fence, result);
}

void AuditWindow(std::string_view command, const std::string& id, const std::string& why,
                 std::string_view result) {
  Audit(command, id, "why", why, result);
}

}  // namespace oncemq
