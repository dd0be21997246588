// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "safe_json.h"
#include "service_window.h"

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

// The file first, then the places on this host that it names.
Result<ServiceOptions> Checked(const std::string& config) {
  Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    return options;
  }
  if (const Status locks = CheckServiceLocks(*options); !locks) {
    return Error{Code::kInvalid, Effect::kNone, "`locks`: " + locks.error().message};
  }
  if (const Status window = CheckServiceWindow(*options); !window) {
    return Error{Code::kInvalid, Effect::kNone, "`window.directory`: " + window.error().message};
  }
  return options;
}

}  // namespace

int CheckCommand(const std::string& config, bool json) {
  const Result<ServiceOptions> options = Checked(config);
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
