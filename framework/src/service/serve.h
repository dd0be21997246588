// SPDX-License-Identifier: Apache-2.0
// Runs a service whose options are loaded. RunService stands on it, and so does `oncemq run`, with
// handlers and a report of its own.
//
//   return Serve(*options,
//                {.handler = [&](StopSignals&) { return handler; },
//                 .tell = [](const RunReport& report) { std::cerr << ReportText(report); }});
//
// **Promise:** that of run_service.h, with an exit code of exit_code.h.
//
// **Limits:** where a handler has not returned in time, Serve does not return: the process ends
// with the exit code.
//
// **Thread safety:** one call, from the thread of main().
#pragma once

#include <functional>

#include "oncemq/framework/run_service.h"
#include "oncemq/framework/runtime.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/framework/stop_signals.h"

namespace oncemq {

struct ServeRequest {
  // Called when the signals are taken: a handler may ask to stop, which counts as a failure.
  std::function<Handler(StopSignals& signals)> handler;
  LockOpener open_locks = nullptr;
  WindowOpener open_window = nullptr;  // as in RunServiceOptions
  std::function<void(const RunReport& report)> report;
};

int Serve(const ServiceOptions& options, const ServeRequest& request);

// Writes the reason to standard error. The exit code that follows from it.
int ReportRefusal(const Error& error);

}  // namespace oncemq
