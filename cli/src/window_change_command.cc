// SPDX-License-Identifier: Apache-2.0
#include "window_change_command.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ask_service.h"
#include "audit.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "safe_json.h"

namespace oncemq {
namespace {

constexpr milliseconds kCall{60'000};
constexpr milliseconds kLongestGc = std::chrono::hours(1);

int Failed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  return CodeOfAsked(error);
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
std::string WhyLeftAlone(Window& window, std::string_view id) {
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
  Change change = Change::kFenced;
  if (const Status asked_to = (*window)->ForgetByHand({&asked, 1}, {&change, 1}); !asked_to) {
    return asked_to.error();
  }
  return change == Change::kMade ? std::string() : WhyLeftAlone(**window, asked);
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

}  // namespace

int WindowForgetCommand(const WindowChangeArguments& arguments) {
  const auto id = arguments.hex ? BytesOfHex(arguments.id) : std::optional(arguments.id);
  if (!id) {
    std::cerr << SafeText(arguments.id) << " is no id in hex digits, two for each byte\n";
    return kExitUsage;
  }
  if (arguments.why.find_first_not_of(" \t\n") == std::string::npos) {
    std::cerr << "--why wants the reason: it is all that the log will know of this\n";
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
  const auto gone = (*window)->DropAged(kLongestGc);
  if (!gone) {
    return Failed(gone.error());
  }
  if (arguments.json) {
    std::cout << SafeJson({{"dropped", *gone}}) << "\n";
    return kExitDone;
  }
  std::cout << *gone << " ids were dropped\n";
  return kExitDone;
}

}  // namespace oncemq
