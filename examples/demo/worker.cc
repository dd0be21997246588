// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <utility>

#include "effect_log.h"
#include "ledger.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/framework/runtime.h"
#include "payment.h"
#include "redis_stage.h"
#include "report_line.h"
#include "timing.h"

namespace oncemq::demo {
namespace {

// What the handler tells of itself, and where it can be made to stand still.
class Desk {
 public:
  void Called() { calls_++; }
  void FoundBooked() { found_booked_++; }
  void RequestStandstill() { requested_ = true; }
  // Once asked: for ever. The process is killed here.
  void StandIfRequested(const Payment& payment) {
    if (!requested_) {
      return;
    }
    {
      MutexLock lock(mutex_);
      inside_ = payment.id;
    }
    std::binary_semaphore never(0);
    never.acquire();
  }
  HandlerReport Report() const {
    MutexLock lock(mutex_);
    return {calls_, found_booked_, inside_};
  }

 private:
  std::atomic<int64_t> calls_ = 0;
  std::atomic<int64_t> found_booked_ = 0;
  std::atomic<bool> requested_ = false;
  mutable Mutex mutex_;
  std::string inside_ GUARDED_BY(mutex_);
};

// Where payments are booked: in the window's stores, in a Redis, or in a log.
struct Books {
  std::unique_ptr<Window> window;
  std::unique_ptr<RedisLedger> redis;
  std::optional<EffectLog> log;
};

// The worker that booked it, now or before.
Result<std::string> BookIn(Books& books, Context& context, const Posting& posting) {
  if (books.redis != nullptr) {
    return books.redis->Book(posting);
  }
  const Status booked =
      context.effects() != nullptr ? Book(*context.effects(), posting) : books.log->Append(posting);
  return booked ? Result<std::string>(posting.worker) : booked.error();
}

// The whole business: one payment, booked where its marker goes, or elsewhere.
Outcome Post(const Message& message, Context& context, const std::string& worker, Books& books,
             Desk& desk) {
  const auto payment = message.value() ? DecodePayment(*message.value()) : std::nullopt;
  if (!payment) {
    return Reject{"not a payment"};
  }
  desk.Called();
  const auto at =
      std::chrono::duration_cast<milliseconds>(SystemClock::Instance().Boot().time_since_epoch());
  const auto by =
      BookIn(books, context, {*payment, worker, message.partition(), message.offset(), at.count()});
  if (!by) {
    return Retry{};
  }
  if (*by != worker) {
    desk.FoundBooked();
  }
  desk.StandIfRequested(*payment);
  return Done{};
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
  runtime.workers = 1;  // a handler that stands still must not stop the counters
  // The producer's key is the account. The window in Redis would recognise copies anywhere.
  runtime.ids_partition_owned = options.kind != WorkerOptions::Kind::kInRedis;
  // All workers share the directory of the stores.
  runtime.one_host = options.kind == WorkerOptions::Kind::kOnDisk;
  runtime.app = "demo";
  runtime.handler = "post";
  return runtime;
}

void PrintLine(const std::string& line) {
  // A parent that is gone has no use for it, and this process ends with it.
  static_cast<void>(!std::fwrite(line.data(), 1, line.size(), stdout));
  std::fflush(stdout);
}

// Reports until SIGTERM or until the runtime has ended by itself.
void ReportUntilEnd(const Runtime& runtime, Desk& desk, const sigset_t& signals,
                    std::stop_token ended) {
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!ended.stop_requested()) {
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGTERM || (signal < 0 && errno != EAGAIN && errno != EINTR)) {
      return;
    }
    if (signal == SIGUSR1) {
      desk.RequestStandstill();
    }
    PrintLine(ReportLine(runtime.Report(), desk.Report(), false));
  }
}

int Fail(const Error& error) {
  PrintLine(ReportLine({.error = ToString(error)}, {}, true));
  return 1;
}

Result<Books> OpenBooks(const WorkerOptions& options) {
  Books books;
  if (options.kind == WorkerOptions::Kind::kNoWindow) {
    auto log = EffectLog::Open(options.effects);
    if (!log) {
      return log.error();
    }
    books.log.emplace(*std::move(log));
    return books;
  }
  const bool redis = options.kind == WorkerOptions::Kind::kInRedis;
  auto window = redis
                    ? OpenStageWindow(options.effects, options.group)
                    : OpenPartitionWindows({.directory = options.effects, .level = Level::kAtomic},
                                           SystemClock::Instance());
  if (!window) {
    return window.error();
  }
  books.window = *std::move(window);
  if (redis) {
    auto ledger = RedisLedger::Open(options.effects);
    if (!ledger) {
      return ledger.error();
    }
    books.redis = *std::move(ledger);
  }
  return books;
}

}  // namespace

int RunWorker(const WorkerOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Only ReportUntilEnd takes the signals, so every thread that is made later must not.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto books = OpenBooks(options);
  if (!books) {
    return Fail(books.error());
  }
  Desk desk;
  auto runtime = Runtime::Open(Configure(options), books->window.get(),
                               [&](const Message& message, Context& context) {
                                 return Post(message, context, options.name, *books, desk);
                               });
  if (!runtime) {
    return Fail(runtime.error());
  }
  std::stop_source ended;
  RunReport report;
  std::jthread service([&](std::stop_token stop) {
    report = (*runtime)->Run(stop);
    ended.request_stop();
  });
  ReportUntilEnd(**runtime, desk, signals, ended.get_token());
  service.request_stop();
  service.join();
  PrintLine(ReportLine(report, desk.Report(), true));
  StopLogging();
  return report.error.empty() ? 0 : 1;
}

}  // namespace oncemq::demo
