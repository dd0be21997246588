// SPDX-License-Identifier: Apache-2.0
#include "run_command.h"

#include <iostream>

#include "command_window.h"
#include "exit_code.h"
#include "handlers.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "oncemq/base/random.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "report.h"
#include "serve.h"
#include "watch.h"

namespace oncemq {
namespace {

constexpr char kNoHandler[] =
    "oncemq run needs --handler print or --handler count: a message must go to a handler, and "
    "yours runs in a program of its own. Both of these watch; nothing is taken from the service";
constexpr char kNoAtomic[] =
    "`window.level` is `atomic`: the handlers of `oncemq run` write no effects, so there is "
    "nothing that could commit with a marker. This level needs a program of yours, linked with "
    "oncemq::service, whose handler writes into Context::effects()";
constexpr size_t kMarkDigits = 8;

Handler HandlerOf(const RunArguments& arguments, StopSignals& signals) {
  const auto on_closed = [&signals] {
    Log(LogLevel::kError, "oncemq", "output cannot be written, stopping");
    signals.Stop();
  };
  return arguments.handler == "count" ? CountHandler() : PrintHandler(on_closed);
}

// After the JSON lines of `print` comes nothing else.
void PrintReport(const RunArguments& arguments, const RunReport& report) {
  const bool apart = arguments.handler == "print" && !arguments.json;
  (apart ? std::cerr : std::cout) << (arguments.json ? ReportJson(report) + "\n"
                                                     : ReportText(report))
                                  << std::flush;
}

// Says so first, before the log has a line.
ServiceOptions Watched(const ServiceOptions& service, bool only_new) {
  ServiceOptions watch = WatchOptions(
      service, {.mark = Hex(SecureRandom64()).substr(0, kMarkDigits), .only_new = only_new});
  std::cerr << WatchText(service, watch) << "\n";
  return watch;
}

}  // namespace

int RunCommand(const RunArguments& arguments) {
  if (arguments.handler.empty()) {
    std::cerr << kNoHandler << "\n";
    return kExitUsage;
  }
  Result<ServiceOptions> options = LoadService(arguments.config);
  if (!options) {
    return ReportRefusal(options.error());
  }
  if (!arguments.takes_messages) {
    options = Watched(*options, arguments.only_new);
  } else if (LevelOf(*options) == Level::kAtomic) {
    return ReportRefusal({Code::kInvalid, Effect::kNone, kNoAtomic});
  }
  return Serve(*options,
               {.handler = [&](StopSignals& signals) { return HandlerOf(arguments, signals); },
                .open_locks = OpenServiceLocks,
                .open_window = OpenCommandWindow,
                .report = [&](const RunReport& report) { PrintReport(arguments, report); }});
}

}  // namespace oncemq
