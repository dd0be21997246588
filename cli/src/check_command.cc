// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ask_service.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "safe_json.h"
#include "service_window.h"

namespace oncemq {
namespace {

void PrintJson(const std::string& config, const Result<ServiceOptions>& options) {
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

bool HasDatabase(const ServiceOptions& options) {
  return options.engine == ServiceOptions::Engine::kPostgres;
}

std::string_view DatabaseText(const ServiceOptions& options, bool offline) {
  return !HasDatabase(options) ? ""
         : offline             ? "; its database was not asked"
                               : "; its database answers";
}

}  // namespace

int CheckCommand(const CheckArguments& arguments) {
  if (arguments.config.empty()) {
    std::cerr << "which service file? Say oncemq check FILE\n";
    return kExitUsage;
  }
  Result<ServiceOptions> options = Checked(arguments.config);
  int code = options ? kExitDone : kExitUsage;
  if (options && HasDatabase(*options) && !arguments.offline) {
    const auto window = OpenToCheck(*options);
    if (!window && window.error().code != Code::kNotFound) {  // the first start makes it
      code = CodeOfAsked(window.error());
      options = Error{window.error().code, Effect::kNone,
                      "`window`: " + SafeText(window.error().message)};
    }
  }
  if (arguments.json) {
    PrintJson(arguments.config, options);
    return code;
  }
  if (!options) {
    std::cerr << options.error().message << "\n";
    return code;
  }
  std::cout << "# " << arguments.config << " is accepted"
            << DatabaseText(*options, arguments.offline) << ". In force:\n"
            << Describe(*options) << "\n"
            << ExplainGuarantee(*options);
  return code;
}

}  // namespace oncemq
