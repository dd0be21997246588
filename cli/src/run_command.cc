// SPDX-License-Identifier: Apache-2.0
#include "run_command.h"

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "exit_code.h"
#include "handlers.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/admin.h"
#include "oncemq/framework/runtime.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "oncemq/framework/stop_signals.h"
#include "open_window.h"
#include "report.h"

namespace oncemq {
namespace {

static_assert(kExitAtOnce == StopSignals::kEndedAtOnce);

int Refused(const Error& error) {
  std::cerr << error.message << "\n";
  return error.code == Code::kInvalid || error.code == Code::kNotFound ? kExitUsage : kExitFailed;
}

// nullptr: the service offers no socket.
Result<std::unique_ptr<AdminSocket>> OpenAdmin(const ServiceOptions& options,
                                               const Runtime* runtime, Window* window) {
  if (options.admin.socket.empty()) {
    return std::unique_ptr<AdminSocket>();
  }
  return AdminSocket::Open(options.admin, {.runtime = runtime,
                                           .window = window,
                                           .group = options.runtime.kafka.group,
                                           .guarantee = ExplainGuarantee(options)});
}

// Between StartLogging and StopLogging.
int Serve(const ServiceOptions& options, const RunArguments& arguments, StopSignals& signals) {
  Log(LogLevel::kInfo, "oncemq", "starting",
      {{"version", ONCEMQ_VERSION}, {"group", options.runtime.kafka.group}});
  const auto window = OpenServiceWindow(options);
  if (!window) {
    return Refused(window.error());
  }
  const auto on_closed = [&signals] {
    Log(LogLevel::kError, "oncemq", "output cannot be written, stopping");
    signals.Stop();
  };
  auto locks = OpenServiceLocks(options);
  if (!locks) {
    return Refused(locks.error());
  }
  RuntimeOptions runtime_options = options.runtime;
  runtime_options.locks.domain = *std::move(locks);
  Handler handler = arguments.handler == "count" ? CountHandler() : PrintHandler(on_closed);
  auto runtime = Runtime::Open(std::move(runtime_options), window->get(), std::move(handler));
  if (!runtime) {
    return Refused(runtime.error());
  }
  auto admin = OpenAdmin(options, runtime->get(), window->get());
  if (!admin) {
    return Refused(admin.error());
  }
  const RunReport report = (*runtime)->Run(signals.token());
  admin->reset();  // from here on nothing more happens that could be asked about
  // Behind the JSON lines of `print` stands nothing else.
  const bool apart = arguments.handler == "print" && !arguments.json;
  (apart ? std::cerr : std::cout) << (arguments.json ? ReportJson(report) + "\n"
                                                     : ReportText(report))
                                  << std::flush;
  const bool unread = signals.token().stop_requested() && signals.received() == 0;
  const int code = unread ? static_cast<int>(kExitFailed) : ExitCodeOf(report, signals.received());
  if (!report.clean) {
    // A handler that did not return may still use what would be destroyed from here on.
    StopLogging();
    std::_Exit(code);
  }
  return code;
}

}  // namespace

int RunCommand(const RunArguments& arguments) {
  const Result<ServiceOptions> options = LoadService(arguments.config);
  if (!options) {
    return Refused(options.error());
  }
  // A reader of our output that goes away is an error of one write, not the end of the process.
  signal(SIGPIPE, SIG_IGN);
  StopSignals signals;
  StartLogging(options->log);
  const int code = Serve(*options, arguments, signals);
  StopLogging();
  return code;
}

}  // namespace oncemq
