// SPDX-License-Identifier: Apache-2.0
#include "window_change_command.h"

#include <iostream>
#include <memory>

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

Result<Change> Forget(const ServiceOptions& options, const std::string& id) {
  const auto window = WindowOf(options);
  if (!window) {
    return window.error();
  }
  const std::string_view asked = id;
  Change change = Change::kFenced;
  const Status forgotten = (*window)->ForgetByHand({&asked, 1}, {&change, 1});
  return forgotten ? Result<Change>(change) : forgotten.error();
}

// Also an attempt that failed leaves its lines.
Result<Change> ForgetAudited(const ServiceOptions& options, const std::string& id,
                             const std::string& why) {
  constexpr std::string_view kCommand = "window forget";
  AuditWindow(kCommand, SafeText(id), why, "begins");
  const Result<Change> change = Forget(options, id);
  AuditWindow(kCommand, SafeText(id), why,
              !change                    ? ToString(change.error())
              : *change == Change::kMade ? std::string("forgotten")
                                         : std::string("left alone"));
  return change;
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
  const Result<Change> change = ForgetAudited(*options, *id, arguments.why);
  if (!change) {
    return Failed(change.error());
  }
  if (*change != Change::kMade) {
    std::cerr << "nothing is known of this id, or a handler has it: it is left alone\n";
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
  std::cout << *gone << " ids were dropped\n";
  return kExitDone;
}

}  // namespace oncemq
