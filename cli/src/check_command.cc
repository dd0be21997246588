// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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

// A mistake of the file: FILE:LINE:COLUMN: TEXT. Another one has its text alone.
nlohmann::ordered_json MistakeOf(const std::string& line, const std::string& file) {
  nlohmann::ordered_json mistake;
  int row = 0;
  int column = 0;
  int read = 0;
  const bool of_file = line.starts_with(file + ":");
  const std::string rest = of_file ? line.substr(file.size() + 1) : line;
  if (of_file && std::sscanf(rest.c_str(), "%d:%d: %n", &row, &column, &read) == 2 && read > 0) {
    mistake["line"] = row;
    mistake["column"] = column;
  }
  mistake["text"] = rest.substr(static_cast<size_t>(read));
  return mistake;
}

// `guarantee`: in one line, of a file that is accepted, as the warnings.
void PrintJson(const std::string& config, const Result<ServiceOptions>& options,
               const std::string& guarantee, const std::vector<std::string>& warnings) {
  nlohmann::ordered_json out;
  out["file"] = config;
  out["valid"] = options.has_value();
  out["errors"] = nlohmann::ordered_json::array();
  if (options) {
    out["guarantee"] = guarantee;
    out["warnings"] = warnings;
  } else {
    std::istringstream errors(options.error().message);
    for (std::string line; std::getline(errors, line);) {
      out["errors"].push_back(MistakeOf(line, config));
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

// About the meaning of one id. `window` as above.
std::vector<std::string> WarningsOf(const ServiceOptions& options, const Window* window) {
  std::vector<std::string> warnings;
  if (std::string over = OneIdOverTopics(options); !over.empty()) {
    warnings.push_back(std::move(over));
  }
  if (window != nullptr && window->capabilities().still_crossing) {
    warnings.emplace_back(
        "The scope is of an earlier version: one id is still one operation over all topics and "
        "partitions, in spite of `ids: partition_owned`. Choose another scope for ids that their "
        "partitions own.");
  }
  return warnings;
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
    PrintJson(arguments.config, options, options ? LineOf(*options, window.get()) : "",
              options ? WarningsOf(*options, window.get()) : std::vector<std::string>());
    return code;
  }
  if (!options) {
    std::cerr << options.error().message << "\n";
    return code;
  }
  std::cout << "# " << arguments.config << " is accepted"
            << CheckedServerText(*options, arguments.offline, window.get()) << ". In force:\n";
  for (const std::string& warning : WarningsOf(*options, window.get())) {
    std::cout << "# Warning: " << warning << "\n";
  }
  std::cout << Describe(*options) << "\n" << ExplainGuarantee(*options);
  return code;
}

}  // namespace oncemq
