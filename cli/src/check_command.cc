// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ask_service.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "safe_json.h"
#include "service_window.h"

namespace oncemq {
namespace {

// `guarantee`: in one line, of a file that is accepted.
void PrintJson(const std::string& config, const Result<ServiceOptions>& options,
               const std::string& guarantee) {
  nlohmann::ordered_json out;
  out["file"] = config;
  out["valid"] = options.has_value();
  out["errors"] = nlohmann::ordered_json::array();
  if (options) {
    out["guarantee"] = guarantee;
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

// The part of the first line about the server of the window. `window`: as it was opened, if it was.
std::string CheckedServerText(const ServiceOptions& options, bool offline, const Window* window) {
  if (!IsInServer(options.engine)) {
    return "";
  }
  const bool redis = options.engine == ServiceOptions::Engine::kRedis;
  const bool empties = window != nullptr && !window->capabilities().survives_restart;
  const int lacks = window != nullptr ? window->capabilities().lacks_replicas : 0;
  return std::string(redis ? "; its Redis" : "; its database") +
         (offline ? " was not asked" : " answers") +
         (empties ? ", and keeps nothing over a restart (no append-only file)" : "") +
         (lacks > 0 ? ", and has " + std::to_string(options.redis.replicas - lacks) + " of " +
                          std::to_string(options.redis.replicas) +
                          " replicas: with fewer nothing is committed"
                    : "");
}

// As its server has the window; nullptr: it was not opened.
Result<std::unique_ptr<Window>> OpenedToCheck(const ServiceOptions& options, bool offline) {
  if (!IsInServer(options.engine) || offline) {
    return std::unique_ptr<Window>();
  }
  auto window = OpenToCheck(options);
  if (!window && window.error().code == Code::kNotFound) {  // the first start makes it
    return std::unique_ptr<Window>();
  }
  if (!window) {
    return window;
  }
  const auto fits = (*window)->Remember(RememberChange::kCheck);
  return fits ? std::move(window) : fits.error();
}

std::string LineOf(const ServiceOptions& options, const Window* window) {
  const RuntimeOptions& runtime = options.runtime;
  return window == nullptr
             ? GuaranteeLine(options)
             : GuaranteeLine(&window->capabilities(), runtime.missing_id, runtime.one_host);
}

}  // namespace

int CheckCommand(const CheckArguments& arguments) {
  if (arguments.config.empty()) {
    std::cerr << "which service file? Say oncemq check FILE\n";
    return kExitUsage;
  }
  Result<ServiceOptions> options = Checked(arguments.config);
  int code = options ? kExitDone : kExitUsage;
  std::unique_ptr<Window> window;
  if (options) {
    auto asked = OpenedToCheck(*options, arguments.offline);
    if (asked) {
      window = *std::move(asked);
    } else {
      code = CodeOfAsked(asked.error());
      options =
          Error{asked.error().code, Effect::kNone, "`window`: " + SafeText(asked.error().message)};
    }
  }
  if (arguments.json) {
    PrintJson(arguments.config, options, options ? LineOf(*options, window.get()) : "");
    return code;
  }
  if (!options) {
    std::cerr << options.error().message << "\n";
    return code;
  }
  std::cout << "# " << arguments.config << " is accepted"
            << CheckedServerText(*options, arguments.offline, window.get()) << ". In force:\n"
            << Describe(*options) << "\n"
            << ExplainGuarantee(*options);
  return code;
}

}  // namespace oncemq
