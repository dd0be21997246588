// SPDX-License-Identifier: Apache-2.0
#include "serve.h"

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "exit_code.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/wait_until.h"
#include "oncemq/framework/admin.h"
#include "oncemq/framework/run_metrics.h"
#include "oncemq/locks/lock_metrics.h"
#include "report.h"
#include "service_window.h"
#include "start_watch.h"
#include "window_sizes.h"

namespace oncemq {
namespace {

static_assert(kExitAtOnce == StopSignals::kEndedAtOnce);

constexpr milliseconds kRetryStoreEvery{1'000};
constexpr milliseconds kSayEvery{10'000};
constexpr milliseconds kSizeWithin{200};
constexpr char kNoOpener[] =
    "`locks` names a store, and this program opens none: link oncemq::service_locks, and give "
    "RunService OpenServiceLocks (RunServiceOptions::open_locks)";

// Runs before the window is opened. The opening raises `remember`, even if the start fails later.
Status CheckAdmin(const ServiceOptions& options) {
  return AdminSocket::CheckFree(options.admin);
}

std::string MetricsText(const ServiceOptions& options, const Runtime& runtime, WindowSizes* sizes,
                        const LockDomain* locks) {
  const KafkaOptions& kafka = options.runtime.kafka;
  std::string text = RunMetricsText(
      runtime.Report(), {.group = kafka.group,
                         .topics = kafka.topics,
                         .by_partition = options.admin.metrics_by_partition,
                         .window = sizes == nullptr ? std::nullopt : sizes->Look(kSizeWithin)});
  if (locks != nullptr) {
    MetricsWriter writer({.labels = {{"group", kafka.group}}});
    WriteLockMetrics(locks->counts(), "service", writer);
    text += writer.Text();
  }
  return text;
}

// nullptr: the service offers no socket and no port.
Result<std::unique_ptr<AdminSocket>> OpenAdmin(const ServiceOptions& options,
                                               const Runtime* runtime, Window* window,
                                               std::shared_ptr<LockDomain> locks) {
  if (options.admin.socket.empty() && options.admin.listen.empty()) {
    return std::unique_ptr<AdminSocket>();
  }
  auto sizes = window == nullptr ? nullptr : std::make_shared<WindowSizes>(*window);
  return AdminSocket::Open(
      options.admin,
      {.runtime = runtime,
       .window = window,
       .group = options.runtime.kafka.group,
       .guarantee = ExplainGuarantee(options),
       .metrics = [&options, runtime, sizes,
                   locks] { return MetricsText(options, *runtime, sizes.get(), locks.get()); },
       .topics = options.runtime.kafka.topics});
}

// nullptr: the file names no store.
Result<std::unique_ptr<LockDomain>> OpenDomain(const ServiceOptions& options, LockOpener open) {
  if (!options.locks.any()) {
    return std::unique_ptr<LockDomain>();
  }
  if (open == nullptr) {
    return Error{Code::kInvalid, Effect::kNone, kNoOpener};
  }
  return open(options);
}

Result<std::unique_ptr<Window>> OpenWindow(const ServiceOptions& options,
                                           const ServeRequest& request) {
  return request.open_window != nullptr ? request.open_window(options) : OpenServiceWindow(options);
}

// As a broker that is not reached: a store that does not answer is asked until it does, or until
// the stop. Then the answer is its outage.
template <class Open>
auto AwaitStore(const std::string& store, const std::stop_token& stop, StartWatch& watch,
                bool window, const Open& open) -> decltype(open()) {
  const BootTime began = BootNow();
  BootTime say_at = began;
  for (;;) {
    auto opened = open();
    const BootTime now = BootNow();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - began).count();
    if (opened && say_at > began) {
      Log(LogLevel::kInfo, "oncemq", store + " answers", {{"seconds", seconds}});
    }
    if (opened || !MayPass(opened.error()) || stop.stop_requested()) {
      return opened;
    }
    watch.Waits(store, opened.error(), window);
    if (now >= say_at) {
      const bool refused = opened.error().code == Code::kRefused;
      Log(LogLevel::kWarn, "oncemq",
          store + (refused ? " refuses the login: nothing is consumed until it does not"
                           : " does not answer, or is full: nothing is consumed until then"),
          {{"error", opened.error().message}, {"seconds", seconds}});
      say_at = now + kSayEvery;
    }
    WaitUntil(now + kRetryStoreEvery, now, stop);
  }
}

int CodeOfRefusal(const Error& error) {
  return error.code == Code::kInvalid || error.code == Code::kNotFound ? kExitUsage : kExitFailed;
}

// Where standard error carries the log, the reason is a line of it, in its format: a plain text
// between lines of JSON is for nobody, and two writers may share a line.
int Refuse(const ServiceOptions& options, const Error& why) {
  Log(LogLevel::kError, "oncemq", "the service does not start", {{"error", why.message}});
  const bool in_log = options.log.file.empty() && options.log.level != LogLevel::kOff;
  return in_log ? CodeOfRefusal(why) : ReportRefusal(why);
}

// Of a run without its window or locks: the report, if it was stopped before their store answered.
int NotOpened(const ServiceOptions& options, const ServeRequest& request, const Error& why,
              int signal) {
  if (!MayPass(why)) {
    return Refuse(options, why);
  }
  Log(LogLevel::kWarn, "oncemq", "stopped before its stores had answered",
      {{"error", why.message}});
  RunReport report;
  report.clean = true;
  request.report(report);
  return ExitCodeOf(report, signal);
}

// A stop that no signal asked for came from the handler.
int CodeOf(const RunReport& report, const StopSignals& signals) {
  const bool by_itself = signals.token().stop_requested() && signals.received() == 0;
  return by_itself ? static_cast<int>(kExitFailed) : ExitCodeOf(report, signals.received());
}

// Between StartLogging and StopLogging.
int RunOpened(const ServiceOptions& options, const ServeRequest& request, StopSignals& signals) {
  Log(LogLevel::kInfo, "oncemq", "starting",
      {{"version", ONCEMQ_VERSION}, {"group", options.runtime.kafka.group}});
  if (const Status free = CheckAdmin(options); !free) {
    return Refuse(options, free.error());
  }
  std::optional<StartWatch> watch(options);
  const auto window = AwaitStore("the store of the window", signals.token(), *watch,
                                 /*window=*/true, [&] { return OpenWindow(options, request); });
  if (!window) {
    return NotOpened(options, request, window.error(), signals.received());
  }
  auto locks = AwaitStore("the store of the locks", signals.token(), *watch, /*window=*/false,
                          [&] { return OpenDomain(options, request.open_locks); });
  if (!locks) {
    return NotOpened(options, request, locks.error(), signals.received());
  }
  RuntimeOptions runtime_options = options.runtime;
  const std::shared_ptr<LockDomain> domain = *std::move(locks);
  runtime_options.locks.domain = domain;
  auto runtime = Runtime::Open(std::move(runtime_options), window->get(), request.handler(signals));
  if (!runtime) {
    return Refuse(options, runtime.error());
  }
  watch.reset();
  auto admin = OpenAdmin(options, runtime->get(), window->get(), domain);
  if (!admin) {
    return Refuse(options, admin.error());
  }
  const RunReport report = (*runtime)->Run(signals.token());
  admin->reset();  // from here on nothing more happens that could be asked about
  request.report(report);
  const int code = CodeOf(report, signals);
  if (!report.clean) {
    // A handler that did not return may still use the objects that would be destroyed now.
    StopLogging();
    std::_Exit(code);
  }
  return code;
}

}  // namespace

int ReportRefusal(const Error& error) {
  std::cerr << error.message + "\n";  // one write: other threads write there too
  return CodeOfRefusal(error);
}

int Serve(const ServiceOptions& options, const ServeRequest& request) {
  // A reader of our output that goes away is an error of one write, not the end of the process.
  signal(SIGPIPE, SIG_IGN);
  StopSignals signals;
  StartLogging(options.log);
  const int code = RunOpened(options, request, signals);
  StopLogging();
  return code;
}

}  // namespace oncemq
