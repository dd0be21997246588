// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "safe_json.h"

namespace oncemq {
namespace {

int PrintJson(const std::string& config, const Result<ServiceOptions>& options) {
  nlohmann::ordered_json out;
  out["file"] = config;
  out["valid"] = options.has_value();
  out["errors"] = nlohmann::ordered_json::array();
  if (options) {
    out["guarantee"] = GuaranteeLine(*options);
  } else {
    std::istringstream errors(options.error().message);
    for (std::string line; std::getline(errors, line);) {
      out["errors"].push_back(line);
    }
  }
  std::cout << SafeJson(out) << "\n";
  return options ? kExitDone : kExitUsage;
}

}  // namespace

int CheckCommand(const std::string& config, bool json) {
  Result<ServiceOptions> options = LoadService(config);
  if (options) {
    if (const Status locks = CheckServiceLocks(*options); !locks) {
      options = Error{Code::kInvalid, Effect::kNone, "`locks`: " + locks.error().message};
    }
  }
  if (json) {
    return PrintJson(config, options);
  }
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  std::cout << "# " << config << " is accepted. In force:\n"
            << Describe(*options) << "\n"
            << ExplainGuarantee(*options);
  return kExitDone;
}

}  // namespace oncemq
