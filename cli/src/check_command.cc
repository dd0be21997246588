// SPDX-License-Identifier: Apache-2.0
#include "check_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command_window.h"
#include "exit_code.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "query_service.h"
#include "safe_json.h"
#include "service_window.h"

namespace oncemq {
namespace {

constexpr char kNotQueried[] =
    "# Nothing else was looked at. A start also compares the commits of the group and the stores\n"
    "# on disk, which may be of another scope; `oncemq doctor` asks brokers and servers.\n";

// The options of a file, or the reason to refuse it.
struct Checked {
  Result<ServiceOptions> options;
  std::string key;  // of an option refused by this host or a server, empty for one by the file

  void Refuse(std::string of, Code code, const std::string& why) {
    key = std::move(of);
    options = Error{code, Effect::kNone, "`" + key + "`: " + why};
  }
};

// One object for each line of the error.
nlohmann::ordered_json MistakesAsJson(const std::string& config, const Checked& checked) {
  std::vector<FileMistake> mistakes =
      checked.key.empty() ? MistakesIn(config) : std::vector<FileMistake>();
  if (mistakes.empty()) {
    std::istringstream lines(checked.options.error().message);
    for (std::string line; std::getline(lines, line);) {
      mistakes.push_back({.key = checked.key, .text = line});
    }
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const FileMistake& mistake : mistakes) {
    nlohmann::ordered_json one{{"file", config}};
    if (mistake.line > 0) {
      one["line"] = mistake.line;
      one["column"] = mistake.column;
    }
    if (!mistake.key.empty()) {
      one["key"] = mistake.key;
    }
    one["message"] = mistake.text;
    out.push_back(std::move(one));
  }
  return out;
}

// `guarantee`: in one line, of a file that is accepted, as the warnings.
void PrintJson(const std::string& config, const Checked& checked, const std::string& guarantee,
               const std::vector<std::string>& warnings) {
  nlohmann::ordered_json out;
  out["file"] = config;
  out["valid"] = checked.options.has_value();
  out["errors"] = nlohmann::ordered_json::array();
  if (checked.options) {
    out["guarantee"] = guarantee;
    out["warnings"] = warnings;
  } else {
    out["errors"] = MistakesAsJson(config, checked);
  }
  std::cout << SafeJson(out) << "\n";
}

// The file first, then the places on this host that it names.
Checked CheckFile(const std::string& config) {
  Checked checked{LoadService(config), {}};
  if (!checked.options) {
    return checked;
  }
  if (const Status locks = CheckServiceLocks(*checked.options); !locks) {
    checked.Refuse("locks", Code::kInvalid, locks.error().message);
  } else if (const Status window = CheckServiceWindow(*checked.options); !window) {
    checked.Refuse("window.directory", Code::kInvalid, window.error().message);
  }
  return checked;
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

// About the meaning of one id, and readers from elsewhere. `window` as above.
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
  if (std::string exposure = AdminExposure(options.admin); !exposure.empty()) {
    warnings.push_back(std::move(exposure));
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
  Checked checked = CheckFile(arguments.config);
  const Result<ServiceOptions>& options = checked.options;
  int code = options ? kExitDone : kExitUsage;
  std::unique_ptr<Window> window;
  if (options) {
    auto asked = OpenedToCheck(*options, arguments.offline);
    if (asked) {
      window = *std::move(asked);
    } else {
      code = ExitCodeOfQuery(asked.error());
      checked.Refuse("window", asked.error().code, SafeText(asked.error().message));
    }
  }
  if (arguments.json) {
    PrintJson(arguments.config, checked, options ? LineOf(*options, window.get()) : "",
              options ? WarningsOf(*options, window.get()) : std::vector<std::string>());
    return code;
  }
  if (!options) {
    std::cerr << options.error().message << "\n";
    return code;
  }
  std::cout << "# " << arguments.config << " is accepted"
            << CheckedServerText(*options, arguments.offline, window.get()) << ". In force:\n"
            << kNotQueried;
  for (const std::string& warning : WarningsOf(*options, window.get())) {
    std::cout << "# Warning: " << warning << "\n";
  }
  std::cout << Describe(*options) << "\n" << ExplainGuarantee(*options);
  return code;
}

}  // namespace oncemq
