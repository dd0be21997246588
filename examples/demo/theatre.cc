// SPDX-License-Identifier: Apache-2.0
#include "theatre.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <utility>

#include "oncemq/base/log.h"
#include "timing.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr char kTopic[] = "payments";
constexpr char kGroup[] = "demo";
constexpr int kTurnMs = 10;

BootTime Now() {
  return SystemClock::Instance().Boot();
}

Error Failed(Code code, std::string why) {
  return {code, Effect::kNone, std::move(why)};
}

}  // namespace

Theatre::Theatre(const DemoOptions& options, Screen& screen)
    : options_(options),
      screen_(screen),
      limit_(Now() + kTimeLimit),
      plan_(MakePlan({.seed = options.seed, .payments = options.payments})) {}

Theatre::~Theatre() {
  workers_.clear();
  StopLogging();
  if (signals_ >= 0) {
    close(signals_);
  }
}

Result<std::unique_ptr<Theatre>> Theatre::Open(const DemoOptions& options, Screen& screen) {
  std::unique_ptr<Theatre> theatre(new Theatre(options, screen));
  const Status prepared = theatre->Prepare();
  if (!prepared) {
    return prepared.error();
  }
  return theatre;
}

Status Theatre::Prepare() {
  // Before librdkafka makes its threads, so that no thread of ours takes these signals.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  // Nobody reads our words any more: then the run still ends in order, and cleans up.
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
  auto dir = WorkDir::Make(options_.keep);
  if (!dir) {
    return dir.error();
  }
  dir_ = std::move(*dir);
  StartLogging({.file = (dir_->path() / "demo.log").string()});
  auto broker = EmbeddedBroker::Start(kTopic, kPartitions);
  if (!broker) {
    return broker.error();
  }
  broker_ = std::move(*broker);
  auto producer = PaymentProducer::Connect(broker_->address(), kTopic, kPartitions);
  if (!producer) {
    return producer.error();
  }
  producer_ = std::move(*producer);
  stream_ = std::make_unique<Stream>(plan_, *producer_);
  return {};
}

Result<WorkerProcess*> Theatre::StartWorker(const std::string& name) {
  const WorkerOptions options{.name = name,
                              .brokers = broker_->address(),
                              .topic = kTopic,
                              .group = kGroup,
                              .effects = effects().string(),
                              .window = options_.window,
                              .catch_up = options_.catch_up};
  auto worker = WorkerProcess::Start(options, dir() / ("worker-" + name + ".log"));
  if (!worker) {
    return worker.error();
  }
  workers_.push_back(std::move(*worker));
  return workers_.back().get();
}

Status Theatre::Until(const std::function<bool()>& done, const std::function<std::string()>& live) {
  while (!done()) {
    const Status served = ServeOnce();
    if (!served) {
      return served;
    }
    screen_.Live(live());
  }
  return {};
}

Status Theatre::ServeOnce() {
  const Status flowed = stream_->Flow(Now());
  if (!flowed) {
    return flowed;
  }
  Listen();
  if (ended_by_ != 0) {
    return Failed(Code::kUnavailable, "ended by signal " + std::to_string(ended_by_));
  }
  if (Now() > limit_) {
    return Failed(Code::kTimeout,
                  "time: not done after " + Grouped(kTimeLimit.count() / 1'000) + " s");
  }
  return CheckWorkers();
}

void Theatre::Listen() {
  std::vector<pollfd> sources = {{.fd = signals_, .events = POLLIN, .revents = 0}};
  for (const auto& worker : workers_) {
    if (worker->running()) {
      sources.push_back({.fd = worker->pipe(), .events = POLLIN, .revents = 0});
    }
  }
  poll(sources.data(), sources.size(), kTurnMs);
  signalfd_siginfo received{};
  if (read(signals_, &received, sizeof(received)) == sizeof(received)) {
    ended_by_ = static_cast<int>(received.ssi_signo);
  }
  for (const auto& worker : workers_) {
    worker->Read();
    for (const auto& [partition, committed] : worker->report().active) {
      int64_t& highest = committed_.at(static_cast<size_t>(partition));
      highest = std::max(highest, committed);
    }
  }
}

Status Theatre::CheckWorkers() const {
  for (const auto& worker : workers_) {
    const std::string name = "worker " + worker->name();
    const WorkerReport& report = worker->report();
    if (!report.error.empty()) {
      return Failed(Code::kUnavailable, name + ": " + report.error);
    }
    if (!worker->running() && !worker->stopping()) {
      return Failed(Code::kUnavailable, name + " ended by itself");
    }
    if (worker->running() && worker->stopping() && Now() > *worker->stop_asked() + kDrainLimit) {
      return Failed(Code::kTimeout, name + " did not stop");
    }
  }
  return {};
}

bool Theatre::Settled() const {
  if (!stream_->Quiet()) {
    return false;
  }
  int owned = 0;
  for (const auto& worker : workers_) {
    for (const auto& [partition, committed] : worker->report().active) {
      if (committed != producer_->volumes().at(static_cast<size_t>(partition)).messages) {
        return false;
      }
      owned++;
    }
  }
  return owned == kPartitions;
}

int64_t Theatre::Committed() const {
  return std::accumulate(committed_.begin(), committed_.end(), int64_t{0});
}

DeliveryCounts Theatre::Counts() const {
  DeliveryCounts sum;
  for (const auto& worker : workers_) {
    const DeliveryCounts& counts = worker->report().counts;
    sum.deliveries += counts.deliveries;
    sum.applied += counts.applied;
    sum.suppressed += counts.suppressed;
    sum.parked += counts.parked;
    sum.rejected += counts.rejected;
    sum.handed_back += counts.handed_back;
    sum.open += counts.open;
  }
  return sum;
}

Result<std::unique_ptr<BrokerView>> Theatre::LookAtBroker() const {
  return BrokerView::Connect(broker_->address(), kTopic, kGroup);
}

}  // namespace oncemq::demo
