// SPDX-License-Identifier: Apache-2.0
#include "gate_command.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "audit.h"
#include "command_window.h"
#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/gate/gate.h"
#include "query_service.h"
#include "safe_json.h"
#include "window_json.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#endif

namespace oncemq {
namespace {

constexpr milliseconds kGateCall{60'000};
constexpr milliseconds kGateWithin = 5 * kGateCall;

Error WrongGateArguments(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// `changes`: a right that is missing is told before the first of them.
Result<std::unique_ptr<Window>> WindowOfFile(const GateArguments& arguments, bool changes) {
  const auto options = LoadServerWindow(
      arguments.config,
      "its operations are known to the process that has it (Gate::Show, Gate::Resolve)");
  if (!options) {
    return options.error();
  }
  if (options->engine == ServiceOptions::Engine::kRedis && options->redis.partition_owned) {
    return WrongGateArguments(arguments.config +
                              ": the scope of this service is for ids that a partition owns, and a "
                              "gate's window has a scope of its own: name it by --at and --scope");
  }
  return changes ? OpenToCheck(*options, kGateCall) : OpenToRead(*options, kGateCall);
}

// Of either server.
template <class Options>
[[maybe_unused]] Options GateOptionsOf(const GateArguments& arguments, bool changes) {
  Options options;
  options.scope = arguments.scope;
  options.level = arguments.level == "guarded" ? Level::kGuarded : Level::kOpaque;
  options.call = kGateCall;
  options.existing_only = true;
  options.check_rights = changes;
  return options;
}

Result<std::unique_ptr<Window>> WindowInDatabase([[maybe_unused]] const std::string& at,
                                                 [[maybe_unused]] const GateArguments& arguments,
                                                 [[maybe_unused]] bool changes) {
#ifdef ONCEMQ_WITH_POSTGRES
  auto options = GateOptionsOf<PostgresWindowOptions>(arguments, changes);
  options.schema = arguments.schema.empty() ? options.schema : arguments.schema;
  return OpenPostgresWindow(at, options);
#else
  return WrongGateArguments("this build has no window in PostgreSQL (ONCEMQ_WITH_POSTGRES=OFF)");
#endif
}

Result<std::unique_ptr<Window>> WindowInRedis([[maybe_unused]] const std::string& at,
                                              [[maybe_unused]] const GateArguments& arguments,
                                              [[maybe_unused]] bool changes) {
#ifdef ONCEMQ_WITH_REDIS
  auto options = GateOptionsOf<RedisWindowOptions>(arguments, changes);
  options.prefix = arguments.prefix.empty() ? options.prefix : arguments.prefix;
  return OpenRedisWindow(at, options);
#else
  return WrongGateArguments("this build has no window in Redis (ONCEMQ_WITH_REDIS=OFF)");
#endif
}

Result<std::unique_ptr<Window>> WindowAt(const GateArguments& arguments, bool changes) {
  if (const Status fit = NoPasswordIn(arguments.at, "ONCEMQ_WINDOW"); !fit) {
    return fit.error();
  }
  const char* variable = std::getenv("ONCEMQ_WINDOW");
  const std::string at = !arguments.at.empty() ? arguments.at : variable ? variable : "";
  if (at.empty() || arguments.scope.empty()) {
    return WrongGateArguments(
        "which window? Say -c FILE, or --at postgres://user@host:port/database or redis://host "
        "(or ONCEMQ_WINDOW), and --scope");
  }
  if (at.find("://") == std::string::npos) {
    return WrongGateArguments(SafeText(at) +
                              ": a directory belongs to the process that holds it, which resolves "
                              "by Gate::Resolve; --at takes postgres:// or redis://");
  }
  return at.starts_with("redis") ? WindowInRedis(at, arguments, changes)
                                 : WindowInDatabase(at, arguments, changes);
}

Result<std::unique_ptr<Gate>> OpenGate(const GateArguments& arguments, bool changes) {
  auto window =
      arguments.config.empty() ? WindowAt(arguments, changes) : WindowOfFile(arguments, changes);
  if (!window) {
    return window.error();
  }
  GateOptions options;
  options.application = "oncemq-command";  // it asks for nothing new
  // The application's own retention is not known here, and a shorter one would run it again.
  options.retention = Retention::Forever();
  options.within = std::max(kGateWithin, (*window)->capabilities().longest_call);
  // A resolve that fails between its two calls leaves its claim for so long.
  options.lease = 2 * options.within;
  options.audit_file = arguments.audit_file;
  return Gate::Open(*std::move(window), options);
}

int GateFailed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  // kNotFound: the server has answered, and has no such window.
  return error.code == Code::kNotFound ? kExitUsage : ExitCodeOfQuery(error);
}

std::string MarkerText(const MarkerView& view) {
  if (view.state == MarkerState::kNone) {
    return "none: the window keeps nothing of this operation\n";
  }
  std::string text = std::string(ToString(view.state)) + "\n";
  if (view.state == MarkerState::kOpen) {
    text += view.token.empty() ? "nobody holds it\n" : "held by a caller, or by one that is gone\n";
  }
  return text + (view.uncertain ? "uncertain: it may have had its effect; find out, then `oncemq "
                                  "gate resolve`\n"
                                : "");
}

}  // namespace

int GateShowCommand(const GateArguments& arguments) {
  const auto gate = OpenGate(arguments, false);
  if (!gate) {
    return GateFailed(gate.error());
  }
  const auto view = (*gate)->Show(arguments.ref);
  if (!view) {
    return GateFailed(view.error());
  }
  std::cout << (arguments.json ? SafeJson(MarkerAsJson(arguments.ref, *view)) + "\n"
                               : MarkerText(*view));
  return view->state == MarkerState::kNone ? kExitFailed : kExitDone;
}

int GateResolveCommand(const GateArguments& arguments) {
  if (arguments.applied == arguments.not_applied) {
    std::cerr << "say --applied or --not-applied\n";
    return kExitUsage;
  }
  const std::string_view command =
      arguments.applied ? "gate resolve --applied" : "gate resolve --not-applied";
  AuditWindow(command, SafeText(arguments.ref), arguments.why, "begins");
  const auto gate = OpenGate(arguments, true);
  if (!gate) {
    AuditWindow(command, SafeText(arguments.ref), arguments.why, ToString(gate.error()));
    return GateFailed(gate.error());
  }
  const Status resolved = (*gate)->Resolve(
      arguments.ref, arguments.applied ? Gate::Outcome::kApplied : Gate::Outcome::kNotApplied,
      arguments.why);
  AuditWindow(command, SafeText(arguments.ref), arguments.why,
              resolved ? "resolved" : ToString(resolved.error()));
  if (!resolved) {
    std::cerr << SafeText(resolved.error().message) << "\n";
    return kExitFailed;
  }
  if (arguments.json) {
    std::cout << SafeJson({{"ref", arguments.ref}, {"applied", arguments.applied}}) << "\n";
    return kExitDone;
  }
  std::cout << (arguments.applied ? "resolved: copies are told that it has happened\n"
                                  : "resolved: the next call runs it\n");
  return kExitDone;
}

}  // namespace oncemq
