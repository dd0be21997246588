// SPDX-License-Identifier: Apache-2.0
#include "window_change_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "audit.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "oncemq/framework/service_file.h"
#include "query_service.h"
#include "safe_json.h"
#include "units.h"
#ifdef ONCEMQ_WITH_ROCKSDB
#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/store_reader.h"
#endif

namespace oncemq {
namespace {

constexpr milliseconds kCall{60'000};
constexpr milliseconds kLongestGc = std::chrono::hours(1);

int Failed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  return ExitCodeOfQuery(error);
}

Result<ServiceOptions> OptionsOf(const std::string& config) {
  return LoadServerWindow(config, "only a window in PostgreSQL or Redis is changed from outside");
}

Result<std::unique_ptr<Window>> WindowOf(const ServiceOptions& options) {
  auto window = OpenToCheck(options, kCall);
  if (!window && window.error().code == Code::kNotFound) {  // the server has answered
    return Error{Code::kInvalid, window.error().effect, window.error().message};
  }
  return window;
}

// By a look after the change was refused.
std::string WhyUnchanged(Window& window, std::string_view id) {
  MarkerView view;
  if (!window.Peek({&id, 1}, {&view, 1})) {
    return "nothing is known of this id, or a handler has it";
  }
  switch (view.state) {
    case MarkerState::kNone:
      return "nothing is known of this id";
    case MarkerState::kOpen:
      return view.token == Token{} ? "it is open, and nobody has it: its next delivery runs anyway"
                                   : "a handler has it";
    case MarkerState::kDone:
    case MarkerState::kParked:
    case MarkerState::kHanded:
      break;
  }
  return "it has changed meanwhile; ask again";
}

// Why it was left alone; empty: it is forgotten.
Result<std::string> Forget(const ServiceOptions& options, const std::string& id) {
  const auto window = WindowOf(options);
  if (!window) {
    return window.error();
  }
  const std::string_view asked = id;
  MarkerChange change = MarkerChange::kFenced;
  if (const Status forgotten = (*window)->ForgetByHand({&asked, 1}, {&change, 1}); !forgotten) {
    return forgotten.error();
  }
  return change == MarkerChange::kMade ? std::string() : WhyUnchanged(**window, asked);
}

// Also an attempt that failed leaves its lines.
Result<std::string> ForgetAudited(const ServiceOptions& options, const std::string& id,
                                  const std::string& why) {
  constexpr std::string_view kCommand = "window forget";
  AuditWindow(kCommand, SafeText(id), why, "begins");
  Result<std::string> left = Forget(options, id);
  AuditWindow(kCommand, SafeText(id), why,
              !left           ? ToString(left.error())
              : left->empty() ? std::string("forgotten")
                              : "left alone: " + *left);
  return left;
}

std::string ForgetJson(const std::string& id, const std::string& left) {
  nlohmann::ordered_json out;
  if (IsPlainText(id)) {
    out["id"] = id;
  }
  out["id_hex"] = HexOfBytes(id);
  out["forgotten"] = left.empty();
  if (!left.empty()) {
    out["why"] = left;
  }
  return SafeJson(out);
}

std::string TimesText(const RememberTimes& times) {
  return "remember " + FormatDuration(times.remember) + ", skew " + FormatDuration(times.skew);
}

// How a file with longer times has changed the scope for all its members.
struct Raised {
  RememberTimes from;
  RememberTimes to;

  bool any() const { return !(from == to); }
};

Result<Raised> RaiseTimes(Window& window) {
  const auto before = window.Remember(RememberChange::kNone);
  const auto after = before ? window.Remember(RememberChange::kExtend) : before;
  return after ? Result<Raised>(Raised{*before, *after}) : after.error();
}

nlohmann::ordered_json TimesJson(const RememberTimes& times) {
  return {{"remember_ms", times.remember.count()}, {"skew_ms", times.skew.count()}};
}

#ifdef ONCEMQ_WITH_ROCKSDB
// Those that lie on this host.
Result<RememberTimes> ShortenStores(const ServiceOptions& options) {
  const RememberTimes times{options.local.remember, options.local.skew};
  Result<RememberTimes> shortened = Error{
      Code::kInvalid, Effect::kNone, options.local.directory + ": no store of a window lies there"};
  for (const std::string& store : FindStores(options.local.directory)) {
    const auto in_force = ReplaceRememberTimes(store, times);
    if (!in_force) {
      return in_force.error();
    }
    if (*in_force == times) {
      shortened = times;
    } else if (!shortened) {  // the others may have longer times than this store
      shortened.error().message = store + " has " + TimesText(*in_force) + "; the file asks for " +
                                  TimesText(times) +
                                  ", and nothing is changed: this only lowers; a start with a "
                                  "longer time raises it";
    }
  }
  return shortened;
}
#else
Result<RememberTimes> ShortenStores(const ServiceOptions&) {
  return Error{Code::kInvalid, Effect::kNone,
               "this build has no window on disk (ONCEMQ_WITH_ROCKSDB=OFF)"};
}
#endif

Result<RememberTimes> Shorten(const ServiceOptions& options) {
  if (options.engine == ServiceOptions::Engine::kRocksDb) {
    return ShortenStores(options);
  }
  if (!IsInServer(options.engine)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "`window.engine` is `" + std::string(ToString(options.engine)) +
                     "`: no scope keeps `remember`, each start takes it from the file"};
  }
  const auto window = WindowOf(options);
  return window ? (*window)->Remember(RememberChange::kReplace)
                : Result<RememberTimes>(window.error());
}

// Why the command was given; false, and told: no reason.
bool HasReason(const std::string& why) {
  if (why.find_first_not_of(" \t\n") != std::string::npos) {
    return true;
  }
  std::cerr << "--why wants the reason: it is all that the log will know of this\n";
  return false;
}

}  // namespace

int WindowForgetCommand(const WindowChangeArguments& arguments) {
  const auto id = arguments.hex ? BytesOfHex(arguments.id) : std::optional(arguments.id);
  if (!id) {
    std::cerr << SafeText(arguments.id) << " is no id in hex digits, two for each byte\n";
    return kExitUsage;
  }
  if (!HasReason(arguments.why)) {
    return kExitUsage;
  }
  const auto options = OptionsOf(arguments.config);
  if (!options) {
    return Failed(options.error());
  }
  const Result<std::string> left = ForgetAudited(*options, *id, arguments.why);
  if (!left) {
    return Failed(left.error());
  }
  if (arguments.json) {
    std::cout << ForgetJson(*id, *left) << "\n";
    return left->empty() ? kExitDone : kExitFailed;
  }
  if (!left->empty()) {
    std::cerr << "left alone: " << *left << "\n";
    return kExitFailed;
  }
  std::cout << "forgotten: its next delivery runs\n";
  return kExitDone;
}

int WindowGcCommand(const WindowChangeArguments& arguments) {
  const auto options = OptionsOf(arguments.config);
  const auto window =
      options ? WindowOf(*options) : Result<std::unique_ptr<Window>>(options.error());
  if (!window) {
    return Failed(window.error());
  }
  const auto raised = RaiseTimes(**window);
  if (!raised) {
    return Failed(raised.error());
  }
  if (raised->any() && !arguments.json) {
    std::cout << "the scope now has " << TimesText(raised->to) << " instead of "
              << TimesText(raised->from) << "\n";
  }
  const auto gone = (*window)->DropAged(kLongestGc);
  if (!gone) {
    return Failed(gone.error());
  }
  if (arguments.json) {
    nlohmann::ordered_json out;
    out["dropped"] = *gone;
    if (raised->any()) {
      out["raised"] = {{"from", TimesJson(raised->from)}, {"to", TimesJson(raised->to)}};
    }
    std::cout << SafeJson(out) << "\n";
    return kExitDone;
  }
  std::cout << *gone << " ids were dropped\n";
  return kExitDone;
}

int WindowShortenCommand(const WindowChangeArguments& arguments) {
  constexpr std::string_view kCommand = "window shorten";
  if (!HasReason(arguments.why)) {
    return kExitUsage;
  }
  const auto options = LoadService(arguments.config);
  if (!options) {
    return Failed(options.error());
  }
  AuditWindow(kCommand, "", arguments.why, "begins");
  const auto in_force = Shorten(*options);
  AuditWindow(kCommand, "", arguments.why,
              in_force ? TimesText(*in_force) : ToString(in_force.error()));
  if (!in_force) {
    return Failed(in_force.error());
  }
  std::cout << "in force from now on: " << TimesText(*in_force) << "\n";
  return kExitDone;
}

}  // namespace oncemq
