// SPDX-License-Identifier: Apache-2.0
#include "window_change_command.h"

#include <iostream>
#include <memory>

#include "ask_service.h"
#include "audit.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"

namespace oncemq {
namespace {

constexpr milliseconds kCall{60'000};
constexpr milliseconds kLongestGc = std::chrono::hours(1);

int Failed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  return CodeOfAsked(error);
}

// Only a window that no process holds for itself can be changed from outside.
Result<std::unique_ptr<Window>> WindowOf(const std::string& config) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    return options.error();
  }
  if (options->engine != ServiceOptions::Engine::kPostgres) {
    return Error{Code::kInvalid, Effect::kNone,
                 config + ": `window.engine` is `" + std::string(ToString(options->engine)) +
                     "`; only a window in PostgreSQL is changed from outside"};
  }
  return OpenForLook(*options, kCall);
}

}  // namespace

int WindowForgetCommand(const WindowChangeArguments& arguments) {
  const auto id = arguments.hex ? BytesOfHex(arguments.id) : std::optional(arguments.id);
  if (!id) {
    std::cerr << SafeText(arguments.id) << " is no id in hex digits, two for each byte\n";
    return kExitUsage;
  }
  const auto window = WindowOf(arguments.config);
  if (!window) {
    return Failed(window.error());
  }
  const std::string_view asked = *id;
  Change change = Change::kFenced;
  const Status forgotten = Audited(
      "window forget", SafeText(*id), arguments.why,
      [&] {
        return (*window)->ForgetByHand({&asked, 1}, {&change, 1});
      },
      [&](const Status& done) {
        return !done                     ? ToString(done.error())
               : change == Change::kMade ? std::string("forgotten")
                                         : std::string("left alone");
      });
  if (!forgotten) {
    return Failed(forgotten.error());
  }
  if (change != Change::kMade) {
    std::cerr << "nothing is known of this id, or a handler has it: it is left alone\n";
    return kExitFailed;
  }
  std::cout << "forgotten: its next delivery runs\n";
  return kExitDone;
}

int WindowGcCommand(const WindowChangeArguments& arguments) {
  const auto window = WindowOf(arguments.config);
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
