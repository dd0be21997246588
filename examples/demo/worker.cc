// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>

#include "effect_log.h"
#include "oncemq/base/log.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"
#include "payment.h"
#include "report_line.h"
#include "timing.h"

namespace oncemq::demo {
namespace {

// The whole business: one payment, one line.
Outcome Post(const Message& message, const std::string& worker, EffectLog& log) {
  const auto payment = message.value() ? DecodePayment(*message.value()) : std::nullopt;
  if (!payment) {
    return Reject{"not a payment"};
  }
  const Status written = log.Append({*payment, worker, message.partition(), message.offset()});
  return written ? Outcome(Done{}) : Outcome(Retry{});
}

RuntimeOptions Configure(const WorkerOptions& options) {
  RuntimeOptions runtime;
  runtime.kafka.brokers = options.brokers;
  runtime.kafka.group = options.group;
  runtime.kafka.topics = {options.topic};
  runtime.kafka.properties = {{"client.id", "worker-" + options.name},
                              {"heartbeat.interval.ms", "300"},
                              {"fetch.wait.max.ms", "20"},
                              {"socket.nagle.disable", "true"}};
  runtime.core.session_timeout = kSession;
  runtime.core.session_margin = kSessionMargin;
  runtime.core.commit_interval = kCommitInterval;
  if (!options.catch_up) {
    runtime.catch_up = 0;
  }
  runtime.ids_partition_owned = true;  // the producer's key is the account
  runtime.policy.window = options.window;
  runtime.app = "demo";
  runtime.handler = "post";
  return runtime;
}

void Tell(const std::string& line) {
  // A parent that is gone has no use for it, and this process ends with it.
  static_cast<void>(!std::fwrite(line.data(), 1, line.size(), stdout));
  std::fflush(stdout);
}

// Reports until SIGTERM or until the runtime has ended by itself.
void ReportUntilEnd(const Runtime& runtime, const sigset_t& ends, std::stop_token ended) {
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!ended.stop_requested() && sigtimedwait(&ends, nullptr, &pause) < 0 &&
         (errno == EAGAIN || errno == EINTR)) {
    Tell(ReportLine(runtime.Report(), false));
  }
}

int Fail(const Error& error) {
  Tell(ReportLine({.error = ToString(error)}, true));
  return 1;
}

}  // namespace

int RunWorker(const WorkerOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Only ReportUntilEnd takes the signal, so every thread that is made later must not.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  auto log = EffectLog::Open(options.effects);
  if (!log) {
    return Fail(log.error());
  }
  std::unique_ptr<Window> window;
  if (options.window) {
    auto opened = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
    if (!opened) {
      return Fail(opened.error());
    }
    window = std::move(*opened);
  }
  auto runtime = Runtime::Open(
      Configure(options), window.get(),
      [&](const Message& message, Context&) { return Post(message, options.name, *log); });
  if (!runtime) {
    return Fail(runtime.error());
  }
  std::stop_source ended;
  RunReport report;
  std::jthread service([&](std::stop_token stop) {
    report = (*runtime)->Run(stop);
    ended.request_stop();
  });
  ReportUntilEnd(**runtime, ends, ended.get_token());
  service.request_stop();
  service.join();
  Tell(ReportLine(report, true));
  StopLogging();
  return report.error.empty() ? 0 : 1;
}

}  // namespace oncemq::demo
