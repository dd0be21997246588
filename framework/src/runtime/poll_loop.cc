// SPDX-License-Identifier: Apache-2.0
#include "poll_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr uint32_t kReadAtOnce = 1000;
constexpr uint32_t kRunHere = 128;          // fits a cache; no hand-off has to be paid for
constexpr uint32_t kRunsPerWorker = 2;      // one at work, one waiting
constexpr milliseconds kLongestSleep{100};  // a wake-up of librdkafka's queues may be lost
constexpr double kRunMicros = 5'000;        // the most that a run of slow handlers should take
constexpr double kLeastRunMicros = 100;     // less is not worth the way to another thread
constexpr microseconds kPublishEvery{50'000};
constexpr microseconds kSlowRunsEvery{50'000};
constexpr microseconds kDemotionMemory{
    60'000'000};  // one demotion a minute may be the machine's fault

uint32_t UsefulCredit(const CoreOptions& core) {
  return std::max(1u, std::min({250u, core.partition_credit / 4, core.in_flight / 8}));
}

}  // namespace

PollLoop::PollLoop(const RuntimeOptions& options, std::unique_ptr<Source> source)
    : poll_{options, std::move(source)}, useful_credit_(UsefulCredit(options.core)) {}

void PollLoop::Connect(const PollParts& parts) {
  poll_.parts = parts;
  {
    MutexLock lock(mutex_);
    report_clock_ = parts.clock;
    reported_at_ = parts.clock->Boot();
  }
  if (parts.window == nullptr) {
    return;
  }
  const WindowCapabilities& can = parts.window->capabilities();
  poll_.remote = can.remote;
  if (can.keeps_history || can.remote) {
    poll_.desk.emplace(parts.window, poll_.errors, *parts.wake);
  }
  if (poll_.options.catch_up > 0) {
    poll_.catch_up.emplace(parts.window, poll_.errors, poll_.remote ? &*poll_.desk : nullptr);
  }
  if (can.keeps_history) {
    const StoreRules rules{.level = can.level,
                           .catch_up = poll_.options.catch_up,
                           .run_incomplete = poll_.options.incomplete == IncompletePolicy::kRun,
                           .keeps_claims = can.keeps_claims};
    poll_.stores.emplace(parts.window, WindowStores::Options{parts.owner, rules}, poll_.errors,
                         poll_.remote ? &*poll_.desk : nullptr);
  }
}

void PollLoop::Poll() {
  if (here_ != nullptr) {
    TakeOver();
  }
  if (!std::exchange(begun_, true) && (poll_.options.workers > 0 || poll_.remote)) {
    Employ(poll_.options.workers > 0 ? poll_.options.workers
                                     : std::max(1u, poll_.options.workers_when_blocking));
  }
  do {
    if (!Round()) {
      return;
    }
  } while (!AtEnd());
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

// Without any thread for them, handlers stay where they are: on the poll thread.
void PollLoop::Employ(uint32_t workers) {
  workers_ = poll_.parts.crew->StartWorkers(workers);
  if (workers_ < workers) {
    Log(LogLevel::kError, "runtime", "there are fewer workers than were asked for",
        {{"workers", workers_}, {"asked", workers}});
  }
}

// The thread that polled before us still drives a run.
void PollLoop::TakeOver() {
  const bool another_hangs = !out_.empty();
  out_.push_back(std::move(here_));
  here_ = nullptr;
  const BootTime before = demoted_at_.value_or(BootTime::min());
  demoted_at_ = poll_.Now();
  // Each hang costs the thread that polled: not one thread more for each of them.
  const bool again =
      another_hangs || (before != BootTime::min() && poll_.now < before + kDemotionMemory);
  if (again) {
    Employ(std::max(1u, poll_.options.workers_when_blocking));
  }
  Log(LogLevel::kWarn, "runtime",
      again ? "handlers block: from now on they run on workers"
            : "handlers kept the poll thread beyond its budget; another thread polls",
      {{"budget_ms", poll_.options.poll_budget.count()}, {"workers", workers_}});
}

// False: another thread polls now, and nothing of this object may be touched.
bool PollLoop::Round() {
  poll_.Now();
  if (poll_.stop_asked.load(std::memory_order_relaxed) && !stopping_) {
    BeginStop();
  }
  poll_.source->Serve(*this);
  round_began_ =
      poll_.Now();  // the budget is the handlers', and asking a silent broker takes longer
  bool busy = SettleReturned();
  busy |= TakeAnswers();
  Act();
  AssignRegressedAnew();
  if (workers_ == 0) {
    if (!HandleHere(busy)) {
      return false;
    }
  } else {
    for (const PartitionId partition : poll_.source->readable()) {
      busy |= ReadFrom(partition);
    }
    busy |= HandOverRuns();
  }
  poll_.core.Tick(poll_.Now());
  Act();
  ReleaseMessages();
  if (poll_.now >= slow_runs_at_) {
    LookAfterSlowRuns();
    partitions_.EndUnprotected();
    RenewOwedClaims();
    slow_runs_at_ = poll_.now + kSlowRunsEvery;
  }
  if (!busy || poll_.now >= published_at_ + kPublishEvery) {
    Publish();
  }
  if (!busy) {
    Sleep();
  }
  return true;
}

// Reads and handles partition by partition, so that a message is still in the cache when its
// handler runs.
bool PollLoop::HandleHere(bool& busy) {
  const auto run_all = [&] {
    for (;;) {
      const Ran ran = RunOnce();
      if (ran != Ran::kSomething) {
        return ran != Ran::kDemoted;
      }
      busy = true;
      if (poll_.now >= round_began_ + poll_.options.poll_budget / 2) {
        return true;  // the group wants to be served too
      }
    }
  };
  if (!run_all()) {
    return false;
  }
  const std::span<const PartitionId> readable = poll_.source->readable();
  first_ = readable.empty() ? 0 : (first_ + 1) % readable.size();
  for (size_t i = 0; i < readable.size(); i++) {
    if (poll_.now >= round_began_ + poll_.options.poll_budget / 2) {
      break;
    }
    if (ReadFrom(readable[(first_ + i) % readable.size()])) {
      busy = true;
      if (!run_all()) {
        return false;
      }
    }
  }
  return true;
}

bool PollLoop::ReadFrom(PartitionId partition) {
  const uint32_t credit = poll_.core.Credit(partition);
  // Where large messages fill the bytes, few of them are worth a read.
  const uint64_t useful = std::clamp<uint64_t>(poll_.core.MessagesThatFit() / 8, 1, useful_credit_);
  if (credit < useful) {
    return false;  // an unread queue costs nothing
  }
  const bool behind = poll_.catch_up && poll_.catch_up->Busy(partition);
  if (behind && poll_.catch_up->Waits(partition, poll_.core.Status(partition).own, poll_.now,
                                      poll_.released)) {
    partitions_.Answered(partition, poll_.catch_up->FailureOf(partition));
    return false;
  }
  if (behind && poll_.catch_up->Overdue(partition, poll_.now, poll_.options.catch_up_time)) {
    CatchUpOverdue(partition);
    return false;
  }
  arrivals_.clear();
  const uint32_t most = std::min(credit, kReadAtOnce);
  if (behind) {
    poll_.catch_up->GiveBehind(partition, most, arrivals_);
  }
  if (arrivals_.empty() && poll_.source->Read(partition, most, arrivals_, *this) == 0) {
    const int64_t end = poll_.source->ReadTo(partition);
    if (behind) {
      poll_.catch_up->ReadTo(partition, end, poll_.now);
    }
    poll_.core.ReadTo(partition, end);
    return false;
  }
  if (behind) {
    poll_.catch_up->Take(partition, poll_.core.Status(partition).own, arrivals_, poll_.now,
                         poll_.released);
  }
  poll_.core.Admit(partition, arrivals_);
  CopyLeftBehind();
  return true;
}

void PollLoop::CopyLeftBehind() {
  left_behind_.clear();
  poll_.core.TakeLeftBehind(left_behind_);
  if (!left_behind_.empty()) {
    poll_.source->Detach(left_behind_);
    poll_.core.Replace(left_behind_);
  }
}

void PollLoop::CatchUpOverdue(PartitionId partition) {
  const PartitionName name = poll_.source->Name(partition);
  const std::string why = "completing the window from the log takes longer than catch_up_time";
  if (poll_.options.incomplete != IncompletePolicy::kRun) {
    poll_.catch_up->Halt(partition);
    NoteStop(name, -1, why + " (incomplete: run goes on without)");
    return;
  }
  const auto [from, to] = poll_.catch_up->PassOver(partition);
  Log(LogLevel::kWarn, "runtime", why + ": copies of what is passed over will run again",
      {{"topic", name.topic}, {"partition", name.partition}, {"from", from}, {"to", to}});
  partitions_.NoteGap(partition, from, to);
}

PollLoop::Ran PollLoop::RunOnce() {
  JobPtr job = TakeJob();
  if (!poll_.core.TakeRun(job->run, poll_.Now(), kRunHere)) {
    idle_jobs_.push_back(std::move(job));
    return Ran::kNothing;
  }
  job->partition = job->run.items.front().partition;
  job->assignment = partitions_[job->partition].assignments;
  job->watch.Reset(/*on_poll_thread=*/true, job->run.safe_until);
  job->drain_by = BootTime::max();
  job->on_worker = false;
  poll_.parts.keeper->Nudge();
  here_ = job;
  Crew& crew = *poll_.parts.crew;
  if (crew.Drive(*job) == Driven::kAbandoned) {
    return Ran::kDemoted;
  }
  if (job->watch.demoted()) {
    crew.PutBack(std::move(job));
    return Ran::kDemoted;
  }
  here_ = nullptr;
  EndRun(std::move(job));
  ReleaseMessages();
  return Ran::kSomething;
}

bool PollLoop::HandOverRuns() {
  bool any = false;
  while (with_workers_ < uint64_t{workers_} * kRunsPerWorker) {
    JobPtr job = TakeJob();
    if (!poll_.core.TakeRun(job->run, poll_.Now(), FittingRun())) {
      idle_jobs_.push_back(std::move(job));
      break;
    }
    job->size = static_cast<uint32_t>(job->run.items.size());
    job->partition = job->run.items.front().partition;
    job->assignment = partitions_[job->partition].assignments;
    job->watch.Reset(/*on_poll_thread=*/false, job->run.safe_until);
    job->drain_by = BootTime::max();
    job->on_worker = true;
    with_workers_++;
    out_.push_back(job);
    poll_.parts.keeper->Nudge();
    poll_.parts.crew->HandOver(std::move(job));
    any = true;
  }
  return any;
}

// How many messages to hand over at once: so many that the hand-off is worth it, so few that slow
// handlers share the work among all workers.
uint32_t PollLoop::FittingRun() const {
  const double cost = std::max(cost_, 0.01);
  const uint32_t idle = with_workers_ < workers_ ? workers_ - with_workers_ : 1;
  const double ready = poll_.core.unfinished() - poll_.core.running();
  const double share = std::ceil(ready / static_cast<double>(idle));
  return static_cast<uint32_t>(
      std::clamp(share, std::max(1.0, kLeastRunMicros / cost), std::max(1.0, kRunMicros / cost)));
}

bool PollLoop::SettleReturned() {
  returned_.clear();
  if (!poll_.parts.crew->TakeBack(returned_)) {
    return false;
  }
  for (JobPtr& job : returned_) {
    std::erase(out_, job);
    with_workers_ -= job->on_worker && !job->stood_in ? 1 : 0;
    job->stood_in = job->alone_told = false;
    if (job->size > 0) {
      cost_ = 0.75 * cost_ + 0.25 * static_cast<double>(job->took.count()) / job->size;
      job->size = 0;
    }
    EndRun(std::move(job));
  }
  ReleaseMessages();
  return true;
}

// A store that has regressed answers once it is opened again. That of a partition that has gone was
// left open for the markers as long as they are owed; after it, and during a stop, they would be
// asked for in vain. Whether their effects count is then for the next owner to find out.
void PollLoop::GiveUpLostMarkers(Job& job) const {
  const bool lost = job.failed && job.failed->code == Code::kRegressed;
  const bool open = partitions_.Owns(job.partition) ||
                    (poll_.stores && poll_.stores->IsOpen(job.partition) && !stopping_);
  if (!lost || open) {
    return;
  }
  for (Settlement& settlement : job.machine.settlements()) {
    if (settlement.fate == Fate::kPending && settlement.stage == Stage::kApplied) {
      settlement.fate = Fate::kWithdrawn;  // as where the window says that it is not ours
      settlement.stage = Stage::kFresh;
      settlement.touched = true;
    }
  }
}

void PollLoop::EndRun(JobPtr job) {
  GiveUpLostMarkers(*job);
  poll_.core.Settle(job->machine.settlements(), poll_.Now());
  // The present assignment was opened after the loss that a late run of an earlier one has met.
  const bool late = job->failed && job->failed->code == Code::kRegressed &&
                    job->assignment != partitions_[job->partition].assignments;
  if (!late) {
    partitions_.Answered(job->partition, job->failed);
  }
  idle_jobs_.push_back(std::move(job));
}

JobPtr PollLoop::TakeJob() {
  if (idle_jobs_.empty()) {
    // Machines share the process half of their tokens; the attempts are told apart by the job's
    // number.
    const TokenSource tokens(poll_.parts.process, (uint64_t{all_jobs_.size()} << 40) + 1);
    auto job = std::make_shared<Job>(poll_.options.policy, tokens, poll_.source->NewView());
    all_jobs_.push_back(job);
    poll_.parts.keeper->Watch(job);
    return job;
  }
  JobPtr job = std::move(idle_jobs_.back());
  idle_jobs_.pop_back();
  return job;
}

// Twice as often as those of a run: part of the lease had passed before they were set aside.
void PollLoop::RenewOwedClaims() {
  if (!poll_.remote || poll_.now < owed_renewed_at_ + poll_.options.renew_every / 2) {
    return;
  }
  owed_renewed_at_ = poll_.now;
  std::vector<HeldClaim> claims;
  poll_.core.FindOwedClaims(claims);
  for (HeldClaim& claim : claims) {
    claim.token.process = poll_.parts.process;
  }
  poll_.parts.keeper->RenewOwed(std::move(claims));
}

void PollLoop::ReleaseMessages() {
  poll_.core.TakeReleased(poll_.released);
  if (!poll_.released.empty()) {
    poll_.source->Release(poll_.released);
    poll_.released.clear();
  }
}

void PollLoop::Sleep() {
  milliseconds most = kLongestSleep;
  if (const auto timer = poll_.core.NextTimer()) {
    const auto left = std::chrono::ceil<milliseconds>(*timer - poll_.now);
    most = std::clamp(left, milliseconds(1), most);
  }
  poll_.parts.wake->Wait(most);
}

void PollLoop::Publish() {
  published_at_ = poll_.now;
  RunReport report = MakeReport(&told_);
  NoteHoldups(report);
  MutexLock lock(mutex_);
  report_ = std::move(report);
  reported_at_ = poll_.now;
}

// `told`: the number of each of its partitions.
RunReport PollLoop::MakeReport(std::vector<PartitionId>* told) const {
  RunReport report;
  report.counts = poll_.core.Counts();
  std::vector<PartitionId> unused;
  TellPartitions(report, told != nullptr ? *told : unused);
  report.caught_up = poll_.catch_up ? poll_.catch_up->restored() : 0;
  report.stood_in = stood_in_;
  report.window_errors = poll_.errors.window();
  report.journal_errors = poll_.errors.journal();
  for (const auto& [partition, stop] : stops_) {
    report.stops.push_back(stop);
  }
  report.error = error_;
  report.unreached = poll_.source->Unreached();
  report.unreached_for = poll_.source->UnreachedFor();
  report.missing = poll_.source->Missing();
  return report;
}

RunReport PollLoop::Report() const {
  MutexLock lock(mutex_);
  RunReport report = report_;
  if (report_clock_ != nullptr) {
    report.age = std::chrono::duration_cast<milliseconds>(report_clock_->Boot() - reported_at_);
  }
  return report;
}

void PollLoop::AskToStop() {
  poll_.stop_asked.store(true);
  poll_.parts.wake->Notify();
}

void PollLoop::WaitUntilEnded() {
  MutexLock lock(mutex_);
  while (!ended_) {
    changed_.wait(mutex_);
  }
}

RunReport PollLoop::Finish(bool handlers_ended) {
  RunReport report = MakeReport();
  poll_.catch_up.reset();
  poll_.desk.reset();
  if (poll_.stores) {
    poll_.stores->CloseAll();
  }
  report.clean =
      handlers_ended && !disorder_ && poll_.source->closed() && poll_.core.unfinished() == 0;
  ReleaseMessages();
  poll_.source.reset();  // now: a thread that hangs may keep this object for long
  MutexLock lock(mutex_);
  report_ = report;
  reported_at_ = poll_.parts.clock->Boot();
  return report;
}

}  // namespace oncemq
