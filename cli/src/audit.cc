// SPDX-License-Identifier: Apache-2.0
#include "audit.h"

#include <syslog.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "oncemq/base/log.h"
#include "safe_json.h"

namespace oncemq {

void AuditLocks(std::string_view command, const std::string& name, const std::string& fence,
                std::string_view result) {
  Log(LogLevel::kInfo, "admin", "change",
      {{"command", command},
       {"uid", getuid()},
       {"pid", getpid()},
       {"name", name},
       {"fence", fence},
       {"result", result}});
  const nlohmann::ordered_json line{{"command", command},
                                    {"uid", getuid()},
                                    {"name", name},
                                    {"fence", fence},
                                    {"result", result}};
  openlog("oncemq", LOG_PID, LOG_AUTHPRIV);
  syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s", SafeJson(line).c_str());
  closelog();
}

}  // namespace oncemq
