// SPDX-License-Identifier: Apache-2.0
#include "side.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "redis_stage.h"
#include "run_error.h"
#include "timing.h"

namespace oncemq::demo {

Side::Side(bool window, std::string brokers, std::filesystem::path dir, std::string redis)
    : window_(window),
      group_(window ? "demo-with-window" : "demo-without-window"),
      brokers_(std::move(brokers)),
      dir_(std::move(dir)),
      redis_(std::move(redis)) {}

std::filesystem::path Side::books() const {
  return dir_ / (window_ ? "stores" : "effects.log");
}

Result<WorkerProcess*> Side::StartWorker(const std::string& name) {
  using Kind = WorkerOptions::Kind;
  const WorkerOptions options{.name = name,
                              .brokers = brokers_,
                              .topic = kTopic,
                              .group = group_,
                              .kind = !window_         ? Kind::kNoWindow
                                      : redis_.empty() ? Kind::kOnDisk
                                                       : Kind::kInRedis,
                              .effects = redis_.empty() ? books().string() : redis_};
  auto worker = WorkerProcess::Start(options, dir_ / (group_ + "-" + name + ".log"));
  if (!worker) {
    return worker.error();
  }
  workers_.push_back(std::move(*worker));
  return workers_.back().get();
}

void Side::Listen() {
  for (const auto& worker : workers_) {
    worker->Read();
    for (const auto& [partition, owned] : worker->report().active) {
      int64_t& highest = committed_.at(static_cast<size_t>(partition));
      highest = std::max(highest, owned.committed);
    }
  }
}

Status Side::Check(BootTime now) const {
  for (const auto& worker : workers_) {
    const std::string name = "worker " + worker->name() + " of " + group_;
    const WorkerReport& report = worker->report();
    if (!report.error.empty()) {
      return RunError(Code::kUnavailable, name + ": " + report.error);
    }
    if (!worker->running() && !worker->stopping() && !worker->killed()) {
      return RunError(Code::kUnavailable, name + " ended by itself");
    }
    if (worker->running() && worker->stopping() &&
        now > *worker->stop_requested_at() + kDrainLimit) {
      return RunError(Code::kTimeout, name + " did not stop");
    }
  }
  return {};
}

void Side::RequestStopAll() {
  for (const auto& worker : workers_) {
    worker->RequestStop();
  }
}

bool Side::AnyRuns() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->running(); });
}

bool Side::Shared() const {
  const auto running = std::count_if(workers_.begin(), workers_.end(),
                                     [](const auto& worker) { return worker->running(); });
  return std::all_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return !worker->running() ||
           static_cast<int64_t>(worker->report().active.size()) * running == kPartitions;
  });
}

bool Side::Settled(const std::vector<PaymentProducer::Volume>& sent) const {
  int owned = 0;
  for (const auto& worker : workers_) {
    if (!worker->running()) {
      continue;
    }
    for (const auto& [partition, at] : worker->report().active) {
      if (at.committed != sent.at(static_cast<size_t>(partition)).messages) {
        return false;
      }
      owned++;
    }
  }
  return owned == kPartitions;
}

DeliveryCounts Side::Counts() const {
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

int64_t Side::OpenAtKill() const {
  int64_t open = 0;
  for (const auto& worker : workers_) {
    open += worker->killed() ? worker->report().counts.open : 0;
  }
  return open;
}

int64_t Side::Committed() const {
  return std::accumulate(committed_.begin(), committed_.end(), int64_t{0});
}

std::string Side::Halts(bool now) const {
  std::string all;
  for (const auto& worker : workers_) {
    const std::string halt = worker->HaltsSoFar();
    if (!halt.empty() && (!now || (worker->running() && worker->halted()))) {
      all += (all.empty() ? "worker " : "; worker ") + worker->name() + " of " + group_ +
             ", process " + std::to_string(worker->pid()) + ", " + halt;
    }
  }
  return all;
}

Result<Ledger> Side::ReadBooks() const {
  if (!redis_.empty()) {
    const auto ledger = RedisLedger::Open(redis_);
    auto content = ledger ? (*ledger)->Read() : Result<EffectLogContent>(ledger.error());
    return content ? Result<Ledger>(LedgerOf(*std::move(content))) : content.error();
  }
  return window_ ? ReadLedger(books() / kTopic, kPartitions) : LedgerOf(ReadEffectLog(books()));
}

std::vector<WorkerEvidence> Side::Evidence() const {
  std::vector<WorkerEvidence> all;
  for (const auto& worker : workers_) {
    const WorkerReport& report = worker->report();
    WorkerEvidence& one = all.emplace_back();
    one.name = worker->name();
    one.reported = report.final;
    one.killed = worker->killed();
    one.counts = report.counts;
    one.calls = report.calls;
    one.found_booked = report.found_booked;
    one.inside = report.inside;
    one.not_committed = one.killed ? NotCommitted(*worker) : 0;
    one.error = report.error;
    one.halted = worker->HaltsSoFar();
  }
  return all;
}

int64_t NotCommitted(const WorkerProcess& worker) {
  int64_t sum = 0;
  for (const auto& [partition, at] : worker.report().active) {
    sum += at.next_offset - at.committed;
  }
  return sum;
}

}  // namespace oncemq::demo
