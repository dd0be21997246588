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
    : options_(options),
      source_(std::move(source)),
      core_(options.core),
      useful_credit_(UsefulCredit(options.core)) {}

void PollLoop::Connect(const Parts& parts) {
  parts_ = parts;
  {
    MutexLock lock(mutex_);
    report_clock_ = parts.clock;
    reported_at_ = parts.clock->Boot();
  }
  if (parts.window == nullptr) {
    return;
  }
  const WindowCapabilities& can = parts.window->capabilities();
  by_desk_ = can.remote;
  if (can.keeps_history || can.remote) {
    desk_.emplace(parts.window, errors_, *parts.wake);
  }
  if (options_.catch_up > 0) {
    catch_up_.emplace(parts.window, errors_, by_desk_ ? &*desk_ : nullptr);
  }
  if (can.keeps_history) {
    const StoreRules rules{.level = can.level,
                           .catch_up = options_.catch_up,
                           .run_incomplete = options_.incomplete == IncompletePolicy::kRun,
                           .keeps_claims = can.keeps_claims};
    stores_.emplace(parts.window, WindowStores::Options{parts.owner, rules}, errors_,
                    by_desk_ ? &*desk_ : nullptr);
  }
}

void PollLoop::Poll() {
  if (here_ != nullptr) {
    TakeOver();
  }
  if (!std::exchange(begun_, true) && (options_.workers > 0 || by_desk_)) {
    Employ(options_.workers > 0 ? options_.workers : std::max(1u, options_.workers_when_blocking));
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
  workers_ = parts_.crew->StartWorkers(workers);
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
  demoted_at_ = Now();
  // Each hang costs the thread that polled: not one thread more for each of them.
  const bool again =
      another_hangs || (before != BootTime::min() && now_ < before + kDemotionMemory);
  if (again) {
    Employ(std::max(1u, options_.workers_when_blocking));
  }
  Log(LogLevel::kWarn, "runtime",
      again ? "handlers block: from now on they run on workers"
            : "handlers kept the poll thread beyond its budget; another thread polls",
      {{"budget_ms", options_.poll_budget.count()}, {"workers", workers_}});
}

// False: another thread polls now, and nothing of this object may be touched.
bool PollLoop::Round() {
  Now();
  if (stop_asked_.load(std::memory_order_relaxed) && !stopping_) {
    BeginStop();
  }
  source_->Serve(*this);
  round_began_ = Now();  // the budget is the handlers', and asking a silent broker takes longer
  bool busy = SettleReturned();
  busy |= TakeAnswers();
  Act();
  AssignRegressedAnew();
  if (workers_ == 0) {
    if (!HandleHere(busy)) {
      return false;
    }
  } else {
    for (const PartitionId partition : source_->readable()) {
      busy |= ReadFrom(partition);
    }
    busy |= HandOverRuns();
  }
  core_.Tick(Now());
  Act();
  ReleaseMessages();
  if (now_ >= slow_runs_at_) {
    LookAfterSlowRuns();
    EndUnprotected();
    RenewOwedClaims();
    slow_runs_at_ = now_ + kSlowRunsEvery;
  }
  if (!busy || now_ >= published_at_ + kPublishEvery) {
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
      if (now_ >= round_began_ + options_.poll_budget / 2) {
        return true;  // the group wants to be served too
      }
    }
  };
  if (!run_all()) {
    return false;
  }
  const std::span<const PartitionId> readable = source_->readable();
  first_ = readable.empty() ? 0 : (first_ + 1) % readable.size();
  for (size_t i = 0; i < readable.size(); i++) {
    if (now_ >= round_began_ + options_.poll_budget / 2) {
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
  const uint32_t credit = core_.Credit(partition);
  // Where large messages fill the bytes, few of them are worth a read.
  const uint64_t useful = std::clamp<uint64_t>(core_.MessagesThatFit() / 8, 1, useful_credit_);
  if (credit < useful) {
    return false;  // an unread queue costs nothing
  }
  const bool behind = catch_up_ && catch_up_->Busy(partition);
  if (behind && catch_up_->Waits(partition, core_.Status(partition).own, now_, released_)) {
    Answered(partition, catch_up_->FailureOf(partition));
    return false;
  }
  if (behind && catch_up_->Overdue(partition, now_, options_.catch_up_time)) {
    CatchUpOverdue(partition);
    return false;
  }
  arrivals_.clear();
  const uint32_t most = std::min(credit, kReadAtOnce);
  if (behind) {
    catch_up_->GiveBehind(partition, most, arrivals_);
  }
  if (arrivals_.empty() && source_->Read(partition, most, arrivals_, *this) == 0) {
    const int64_t end = source_->ReadTo(partition);
    if (behind) {
      catch_up_->ReadTo(partition, end, now_);
    }
    core_.ReadTo(partition, end);
    return false;
  }
  if (behind) {
    catch_up_->Take(partition, core_.Status(partition).own, arrivals_, now_, released_);
  }
  core_.Admit(partition, arrivals_);
  CopyLeftBehind();
  return true;
}

void PollLoop::CopyLeftBehind() {
  left_behind_.clear();
  core_.TakeLeftBehind(left_behind_);
  if (!left_behind_.empty()) {
    source_->Detach(left_behind_);
    core_.Replace(left_behind_);
  }
}

void PollLoop::CatchUpOverdue(PartitionId partition) {
  const PartitionName name = source_->Name(partition);
  const std::string why = "completing the window from the log takes longer than catch_up_time";
  if (options_.incomplete != IncompletePolicy::kRun) {
    catch_up_->Halt(partition);
    NoteStop(name, -1, why + " (incomplete: run goes on without)");
    return;
  }
  const auto [from, to] = catch_up_->PassOver(partition);
  Log(LogLevel::kWarn, "runtime", why + ": copies of what is passed over will run again",
      {{"topic", name.topic}, {"partition", name.partition}, {"from", from}, {"to", to}});
  NoteGap(partition, from, to);
}

PollLoop::Ran PollLoop::RunOnce() {
  JobPtr job = TakeJob();
  if (!core_.TakeRun(job->run, Now(), kRunHere)) {
    idle_jobs_.push_back(std::move(job));
    return Ran::kNothing;
  }
  job->partition = job->run.items.front().partition;
  job->assignment = owned_[job->partition].assignments;
  job->watch.Reset(/*on_poll_thread=*/true, job->run.safe_until);
  job->drain_by = BootTime::max();
  job->on_worker = false;
  parts_.keeper->Nudge();
  here_ = job;
  Crew& crew = *parts_.crew;
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
    if (!core_.TakeRun(job->run, Now(), FittingRun())) {
      idle_jobs_.push_back(std::move(job));
      break;
    }
    job->size = static_cast<uint32_t>(job->run.items.size());
    job->partition = job->run.items.front().partition;
    job->assignment = owned_[job->partition].assignments;
    job->watch.Reset(/*on_poll_thread=*/false, job->run.safe_until);
    job->drain_by = BootTime::max();
    job->on_worker = true;
    with_workers_++;
    out_.push_back(job);
    parts_.keeper->Nudge();
    parts_.crew->HandOver(std::move(job));
    any = true;
  }
  return any;
}

// How many messages to hand over at once: so many that the hand-off is worth it, so few that slow
// handlers share the work among all workers.
uint32_t PollLoop::FittingRun() const {
  const double cost = std::max(cost_, 0.01);
  const uint32_t idle = with_workers_ < workers_ ? workers_ - with_workers_ : 1;
  const double ready = core_.unfinished() - core_.running();
  const double share = std::ceil(ready / static_cast<double>(idle));
  return static_cast<uint32_t>(
      std::clamp(share, std::max(1.0, kLeastRunMicros / cost), std::max(1.0, kRunMicros / cost)));
}

bool PollLoop::SettleReturned() {
  returned_.clear();
  if (!parts_.crew->TakeBack(returned_)) {
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
  const bool open =
      Owns(job.partition) || (stores_ && stores_->IsOpen(job.partition) && !stopping_);
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
  core_.Settle(job->machine.settlements(), Now());
  // The present assignment was opened after the loss that a late run of an earlier one has met.
  const bool late = job->failed && job->failed->code == Code::kRegressed &&
                    job->assignment != owned_[job->partition].assignments;
  if (!late) {
    Answered(job->partition, job->failed);
  }
  idle_jobs_.push_back(std::move(job));
}

JobPtr PollLoop::TakeJob() {
  if (idle_jobs_.empty()) {
    // Machines share the process half of their tokens; the attempts are told apart by the job's
    // number.
    const TokenSource tokens(parts_.process, (uint64_t{all_jobs_.size()} << 40) + 1);
    auto job = std::make_shared<Job>(options_.policy, tokens, source_->NewView());
    all_jobs_.push_back(job);
    parts_.keeper->Watch(job);
    return job;
  }
  JobPtr job = std::move(idle_jobs_.back());
  idle_jobs_.pop_back();
  return job;
}

// Twice as often as those of a run: part of the lease had passed before they were set aside.
void PollLoop::RenewOwedClaims() {
  if (!by_desk_ || now_ < owed_renewed_at_ + options_.renew_every / 2) {
    return;
  }
  owed_renewed_at_ = now_;
  std::vector<HeldClaim> claims;
  core_.FindOwedClaims(claims);
  for (HeldClaim& claim : claims) {
    claim.token.process = parts_.process;
  }
  parts_.keeper->RenewOwed(std::move(claims));
}

void PollLoop::ReleaseMessages() {
  core_.TakeReleased(released_);
  if (!released_.empty()) {
    source_->Release(released_);
    released_.clear();
  }
}

void PollLoop::Sleep() {
  milliseconds most = kLongestSleep;
  if (const auto timer = core_.NextTimer()) {
    const auto left = std::chrono::ceil<milliseconds>(*timer - now_);
    most = std::clamp(left, milliseconds(1), most);
  }
  parts_.wake->Wait(most);
}

void PollLoop::Publish() {
  published_at_ = now_;
  RunReport report = MakeReport(&told_);
  NoteHoldups(report);
  MutexLock lock(mutex_);
  report_ = std::move(report);
  reported_at_ = now_;
}

// `told`: the number of each of its partitions.
RunReport PollLoop::MakeReport(std::vector<PartitionId>* told) const {
  RunReport report;
  report.counts = core_.Counts();
  std::vector<PartitionId> unused;
  TellPartitions(report, told != nullptr ? *told : unused);
  report.caught_up = catch_up_ ? catch_up_->restored() : 0;
  report.stood_in = stood_in_;
  report.window_errors = errors_.window();
  report.journal_errors = errors_.journal();
  for (const auto& [partition, stop] : stops_) {
    report.stops.push_back(stop);
  }
  report.error = error_;
  report.unreached = source_->Unreached();
  report.unreached_for = source_->UnreachedFor();
  report.missing = source_->Missing();
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
  stop_asked_.store(true);
  parts_.wake->Notify();
}

void PollLoop::WaitUntilEnded() {
  MutexLock lock(mutex_);
  while (!ended_) {
    changed_.wait(mutex_);
  }
}

RunReport PollLoop::Finish(bool handlers_ended) {
  RunReport report = MakeReport();
  catch_up_.reset();
  desk_.reset();
  if (stores_) {
    stores_->CloseAll();
  }
  report.clean = handlers_ended && !disorder_ && source_->closed() && core_.unfinished() == 0;
  ReleaseMessages();
  source_.reset();  // now: a thread that hangs may keep this object for long
  MutexLock lock(mutex_);
  report_ = report;
  reported_at_ = parts_.clock->Boot();
  return report;
}

}  // namespace oncemq
