// SPDX-License-Identifier: Apache-2.0
#include "poll_loop.h"

#include <algorithm>
#include <utility>

#include "keeper.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr uint32_t kReadAtOnce = 1000;
constexpr milliseconds kLongestSleep{100};  // a wake-up of librdkafka's queues may be lost
constexpr microseconds kSlowBatchesEvery{50'000};
constexpr milliseconds kCloseWithin{5'000};  // for leaving the group, once everything is given back

uint32_t UsefulCredit(const CoreOptions& core) {
  return std::max(1u, std::min({250u, core.partition_credit / 4, core.in_flight / 8}));
}

}  // namespace

PollLoop::PollLoop(const RuntimeOptions& options, std::unique_ptr<Source> source)
    : poll_{options, std::move(source)}, useful_credit_(UsefulCredit(options.core)) {}

void PollLoop::Connect(const PollParts& parts) {
  poll_.parts = parts;
  reporter_.Begin();
  poll_.questions.Begin(*parts.wake);
  if (parts.window == nullptr) {
    return;
  }
  const WindowCapabilities& can = parts.window->capabilities();
  poll_.remote = can.remote;
  HistoryThread* const history_thread =
      can.keeps_history || can.remote
          ? &poll_.history_thread.emplace(parts.window, poll_.errors, *parts.wake)
          : nullptr;
  if (poll_.options.catch_up > 0) {
    poll_.catch_up.emplace(parts.window, poll_.errors, history_thread);
  }
  if (can.keeps_history) {
    const StoreRules rules{.level = can.level,
                           .catch_up = poll_.options.catch_up,
                           .run_incomplete = poll_.options.incomplete == IncompletePolicy::kRun,
                           .keeps_claims = can.keeps_claims,
                           .reads_park = poll_.options.core.refusals.parks};
    poll_.stores.emplace(parts.window, WindowStores::Options{parts.owner, rules}, poll_.errors,
                         history_thread);
  }
}

void PollLoop::Poll() {
  pool_.TakeOver();
  if (!std::exchange(begun_, true) && (poll_.options.workers > 0 || poll_.remote)) {
    pool_.Employ(poll_.options.workers > 0 ? poll_.options.workers
                                           : std::max(1u, poll_.options.workers_when_blocking));
  }
  do {
    if (!Round()) {
      return;
    }
  } while (!AtEnd());
  poll_.questions.End();
  reporter_.End();
}

// False: another thread polls now, and nothing of this object may be touched.
bool PollLoop::Round() {
  poll_.Now();
  if (poll_.stop_requested.load(std::memory_order_relaxed) && !group_.stopping()) {
    BeginStop();
  }
  poll_.source->Serve(group_);
  // The budget is the handlers', and asking a silent broker takes longer.
  round_began_ = poll_.Now();
  bool busy = SettleReturned();
  busy |= TakeAnswers();
  Act();
  group_.AssignLostWritesAnew();
  if (pool_.workers() == 0) {
    if (!HandleHere(busy)) {
      return false;
    }
  } else {
    for (const PartitionId partition : poll_.source->readable()) {
      busy |= ReadFrom(partition);
    }
    busy |= pool_.HandOver();
  }
  poll_.core.Tick(poll_.Now());
  Act();
  ReleaseMessages();
  if (poll_.now >= slow_batches_at_) {
    pool_.CheckSlowBatches();
    group_.CloseStores();
    partitions_.EndUnprotected();
    RenewOwedClaims();
    slow_batches_at_ = poll_.now + kSlowBatchesEvery;
  }
  reporter_.Publish(busy);
  poll_.questions.Answer([this](const std::string& id) { return reporter_.FindOpen(id); });
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
      std::optional<JobPtr> ended = pool_.RunHere();
      if (!ended || *ended == nullptr) {
        return ended.has_value();
      }
      EndBatch(*std::move(ended));
      Act();  // a stop looks at its message before the release
      ReleaseMessages();
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
  if (!redrives_.Known(partition)) {
    return false;
  }
  const bool behind = poll_.catch_up && poll_.catch_up->Busy(partition);
  if (behind && poll_.catch_up->Waits(partition, poll_.core.Status(partition).owner_epoch,
                                      poll_.now, poll_.released)) {
    partitions_.Answered(partition, poll_.catch_up->FailureOf(partition));
    return false;
  }
  if (behind && poll_.catch_up->Overdue(partition, poll_.now, poll_.options.catch_up_time)) {
    CatchUpOverdue(partition);
    return false;
  }
  // Not before the window is complete.
  const bool redriven = !behind && redrives_.Admit(partition);
  arrivals_.clear();
  const uint32_t most = std::min(poll_.core.Credit(partition), kReadAtOnce);
  if (behind) {
    poll_.catch_up->GiveBehind(partition, most, arrivals_);
  }
  if (arrivals_.empty() && poll_.source->Read(partition, most, arrivals_, group_) == 0) {
    const int64_t end = poll_.source->ReadTo(partition);
    if (behind) {
      poll_.catch_up->ReadTo(partition, end, poll_.now);
    }
    poll_.core.ReadTo(partition, end);
    return redriven;
  }
  if (behind) {
    poll_.catch_up->Take(partition, poll_.core.Status(partition).owner_epoch, arrivals_, poll_.now,
                         poll_.released);
  }
  poll_.core.Admit(partition, arrivals_);
  left_behind_.clear();
  poll_.core.TakeLeftBehind(left_behind_);
  if (!left_behind_.empty()) {
    poll_.source->Detach(left_behind_);
    poll_.core.Replace(left_behind_);
  }
  return true;
}

void PollLoop::CatchUpOverdue(PartitionId partition) {
  const PartitionName name = poll_.source->Name(partition);
  const std::string why = "completing the window from the log takes longer than catch_up_time";
  if (poll_.options.incomplete != IncompletePolicy::kRun) {
    poll_.catch_up->Halt(partition);
    reporter_.NoteStop(name, -1, why + " (incomplete: run goes on without)");
    return;
  }
  const auto [from, to] = poll_.catch_up->PassOver(partition);
  Log(LogLevel::kWarn, "runtime", why + ": copies of what is passed over will run again",
      {{"topic", name.topic}, {"partition", name.partition}, {"from", from}, {"to", to}});
  partitions_.NoteGap(partition, from, to);
}

void PollLoop::Act() {
  for (;;) {
    actions_.clear();
    poll_.core.TakeActions(actions_);
    if (actions_.empty()) {
      return;
    }
    for (Action& action : actions_) {
      if (const auto* raise = std::get_if<RaiseOwnerEpochAction>(&action)) {
        partitions_.Raise(*raise);
      } else if (auto* commit = std::get_if<CommitAction>(&action)) {
        flight_.Request(std::move(*commit));
      } else if (const auto* give_back = std::get_if<GiveBackAction>(&action)) {
        group_.GiveBack(*give_back);
      } else if (auto* stop = std::get_if<StopAction>(&action)) {
        reporter_.NoteStop(poll_.source->Name(stop->partition), stop->offset, stop->why,
                           std::move(stop->message));
      }
    }
    flight_.Send();
  }
}

// Answers of the history thread.
bool PollLoop::TakeAnswers() {
  answers_.clear();
  if (!poll_.history_thread || !poll_.history_thread->Take(answers_)) {
    return false;
  }
  for (HistoryThread::Job& job : answers_) {
    if (const auto* raise = std::get_if<HistoryThread::RaiseOwnerEpoch>(&job)) {
      partitions_.Raised(*raise);
    } else if (auto* open = std::get_if<HistoryThread::Open>(&job)) {
      // It is said once, and an answer may come too late for its assignment.
      partitions_.At(open->partition).lost_writes |= open->known && open->known->lost_writes;
      poll_.stores->Opened(*open, poll_.now);
      poll_.source->RetryPrepare();
    } else if (auto* announce = std::get_if<HistoryThread::Announce>(&job)) {
      flight_.Announced(*announce);
    } else if (const auto* restore = std::get_if<HistoryThread::Restore>(&job)) {
      poll_.catch_up->Restored(*restore, poll_.now, poll_.released);
    } else if (const auto* close = std::get_if<HistoryThread::Close>(&job)) {
      group_.StoreClosed(close->id);
    }
  }
  flight_.Send();
  return true;
}

// A store with lost writes answers once it is opened again. That of a partition that has gone was
// left open for the markers as long as they are owed; after it, and during a stop, they would be
// asked for in vain. Whether their effects count is then for the next owner to find out.
void PollLoop::GiveUpLostMarkers(Job& job) {
  const bool lost = job.failed && job.failed->code == Code::kLostWrites;
  const bool open =
      partitions_.Owns(job.partition) ||
      (poll_.stores && poll_.stores->Find(job.partition) != nullptr && !group_.stopping());
  if (!lost || open) {
    return;
  }
  for (Settlement& settlement : job.machine.settlements()) {
    if (settlement.fate == DeliveryFate::kPending && settlement.stage == Stage::kApplied) {
      settlement.fate = DeliveryFate::kWithdrawn;  // as where the window says that it is not ours
      settlement.stage = Stage::kFresh;
      settlement.touched = true;
    }
  }
}

bool PollLoop::SettleReturned() {
  std::vector<JobPtr>& returned = pool_.TakeBack();
  for (JobPtr& job : returned) {
    EndBatch(std::move(job));
  }
  if (!returned.empty()) {
    Act();
    ReleaseMessages();
  }
  return !returned.empty();
}

void PollLoop::EndBatch(JobPtr job) {
  GiveUpLostMarkers(*job);
  poll_.core.Settle(job->machine.settlements(), poll_.Now());
  // The present assignment was opened after the loss that a late batch of an earlier one has met.
  const bool late = job->failed && job->failed->code == Code::kLostWrites &&
                    job->assignment != partitions_[job->partition].assignments;
  if (!late) {
    partitions_.Answered(job->partition, job->failed);
  }
  pool_.Idle(std::move(job));
}

// Twice as often as those of a batch: part of the lease had passed before they were set aside.
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

void PollLoop::BeginStop() {
  stopping_.drain_by = poll_.now + poll_.options.drain_deadline;
  // By then the core has given everything back, whatever happened.
  stopping_.end_by = stopping_.drain_by + poll_.options.core.session_margin + kCloseWithin;
  group_.BeginStop();
}

bool PollLoop::AtEnd() {
  group_.RejoinWhenDrained();
  if (!group_.stopping()) {
    return false;
  }
  // Finished work is still owed its marker, so what runs may end before the deadline.
  const bool settled = partitions_.held() == 0 && !group_.StoresClose() &&
                       (poll_.core.load().unfinished == 0 || poll_.now >= stopping_.drain_by);
  if (!stopping_.closing && (settled || poll_.now >= stopping_.end_by)) {
    stopping_.closing = true;
    stopping_.end_by = poll_.now + kCloseWithin;
    poll_.source->Close();
  }
  return stopping_.closing && (poll_.source->closed() || poll_.now >= stopping_.end_by);
}

void PollLoop::RequestStop() {
  poll_.stop_requested.store(true);
  poll_.parts.wake->Notify();
}

RunReport PollLoop::Finish(bool handlers_ended) {
  RunReport report = reporter_.Make();
  poll_.questions.End();  // it may never have begun to poll
  poll_.catch_up.reset();
  if (poll_.stores) {
    poll_.stores->CloseAll();
  }
  poll_.history_thread.reset();
  report.clean = handlers_ended && !group_.disorder() && poll_.source->closed() &&
                 poll_.core.load().unfinished == 0;
  ReleaseMessages();
  poll_.source.reset();  // now: a thread that hangs may keep this object for long
  reporter_.Keep(report, poll_.parts.clock->Boot());
  return report;
}

}  // namespace oncemq
