// SPDX-License-Identifier: Apache-2.0
#include "theatre.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "oncemq/base/log.h"
#include "run_error.h"
#include "timing.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr int kTurnMs = 10;

int64_t NowMs() {
  return std::chrono::duration_cast<milliseconds>(BootNow().time_since_epoch()).count();
}

}  // namespace

Theatre::Theatre(const DemoOptions& options, Screen& screen)
    : options_(options),
      screen_(screen),
      limit_(BootNow() + kTimeLimit),
      begin_ms_(NowMs()),
      plan_(MakePlan({.seed = options.seed, .payments = options.payments})) {}

Theatre::~Theatre() {
  with_.reset();
  without_.reset();
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
  if (options_.redis) {
    auto redis = RedisStage::Start(dir_->path());
    if (!redis) {
      return redis.error();
    }
    redis_ = std::move(*redis);
  }
  with_ = std::make_unique<Side>(true, broker_->address(), dir_->path(),
                                 redis_ != nullptr ? redis_->url() : "");
  without_ = std::make_unique<Side>(false, broker_->address(), dir_->path());
  return {};
}

Status Theatre::Until(const std::function<bool()>& done, const std::function<std::string()>& live) {
  while (!done()) {
    const Status served = ServeOnce();
    if (!served) {
      return served;
    }
    const std::string halts = Halts(/*now=*/true);
    screen_.Live(halts.empty() ? live()
                               : "     waiting     " + halts + "; kill -CONT lets it go on");
  }
  return {};
}

Status Theatre::ServeOnce() {
  const Status flowed = stream_->Flow(BootNow());
  if (!flowed) {
    return flowed;
  }
  Listen();
  if (ended_by_ != 0) {
    return RunError(Code::kUnavailable, "ended by signal " + std::to_string(ended_by_));
  }
  if (BootNow() > limit_) {
    return RunError(Code::kTimeout,
                    "time: not done after " + Grouped(kTimeLimit.count() / 1'000) + " s");
  }
  const Status with = with_->Check(BootNow());
  return with ? without_->Check(BootNow()) : with;
}

void Theatre::Listen() {
  std::vector<pollfd> sources = {{.fd = signals_, .events = POLLIN, .revents = 0}};
  for (const Side* side : {with_.get(), without_.get()}) {
    for (const auto& worker : side->workers()) {
      if (worker->running()) {
        sources.push_back({.fd = worker->pipe(), .events = POLLIN, .revents = 0});
      }
    }
  }
  poll(sources.data(), sources.size(), kTurnMs);
  signalfd_siginfo received{};
  if (read(signals_, &received, sizeof(received)) == sizeof(received)) {
    ended_by_ = static_cast<int>(received.ssi_signo);
  }
  with_->Listen();
  without_->Listen();
  const DeliveryCounts counts = with_->Counts();
  sampler_.Sample(NowMs() - begin_ms_, {counts.applied, counts.suppressed});
}

bool Theatre::Settled() const {
  return stream_->Quiet() && with_->Settled(producer_->volumes()) &&
         without_->Settled(producer_->volumes());
}

std::string Theatre::Halts(bool now) const {
  const std::string with = with_->Halts(now);
  const std::string without = without_->Halts(now);
  return with + (with.empty() || without.empty() ? "" : "; ") + without;
}

void Theatre::MarkNow(const Side& side, Mark mark) {
  mark.at_ms = NowMs() - begin_ms_;
  moments_[side.window() ? 1 : 0].Add(std::move(mark));
}

void Theatre::BeginWaitNow(const Side& side, std::string reason) {
  moments_[side.window() ? 1 : 0].BeginWait(NowMs() - begin_ms_, std::move(reason));
}

void Theatre::EndWaitNow(const Side& side) {
  moments_[side.window() ? 1 : 0].EndWait(NowMs() - begin_ms_);
}

Result<std::unique_ptr<BrokerView>> Theatre::OpenBrokerView(const Side& side) const {
  return BrokerView::Connect(broker_->address(), kTopic, side.group());
}

}  // namespace oncemq::demo
