// SPDX-License-Identifier: Apache-2.0
// The poll loop's dealings with group and store: what the core wants done, and what the source
// tells.
#include <algorithm>
#include <utility>

#include "longest_reason.h"
#include "oncemq/base/log.h"
#include "poll_loop.h"

namespace oncemq {
namespace {

constexpr milliseconds kCloseWithin{5'000};  // for leaving the group, once everything is given back

}  // namespace

void PollLoop::Act() {
  for (;;) {
    actions_.clear();
    core_.TakeActions(actions_);
    if (actions_.empty()) {
      return;
    }
    commits_.clear();
    for (Action& action : actions_) {
      std::visit([this](auto& one) { Do(one); }, action);
    }
    if (!commits_.empty()) {
      SendCommits();
    }
  }
}

void PollLoop::Do(RaiseOwnAction& action) {
  const PartitionId id = action.partition;
  if (!Owns(id)) {
    return;
  }
  Owned& owned = owned_[id];
  if (by_desk_) {
    // A second one would refuse the ownership that the first one has issued.
    if (owned.raising != action.epoch) {
      owned.raising = action.epoch;
      desk_->Add(WindowDesk::RaiseOwn{
          .action = action, .source = owned.source, .partition = owned.partition});
    }
    return;
  }
  const Result<Own> own = parts_.window != nullptr
                              ? parts_.window->RaiseOwn(owned.source, owned.partition, action.floor)
                              : Result<Own>(owned.local_own = std::max(
                                                {owned.local_own + 1, action.floor,
                                                 static_cast<Own>(parts_.clock->Wall().micros)}));
  if (!own) {
    (void)errors_.Window("raise own", 1, own.error());
  }
  OwnRaised(action, own);
}

void PollLoop::OwnRaised(const RaiseOwnAction& action, const Result<Own>& own) {
  const PartitionId id = action.partition;
  owned_[id].unowned = own ? "" : own.error().message;
  Answered(id, own ? std::nullopt : std::optional<Error>(own.error()));
  core_.OwnRaised(id, action.epoch, own, Now());
}

void PollLoop::Answer(WindowDesk::RaiseOwn& job) {
  const PartitionId id = job.action.partition;
  Owned& owned = owned_[id];
  owned.raising = owned.raising == job.action.epoch ? 0 : owned.raising;
  if (Owns(id) && core_.Status(id).epoch == job.action.epoch) {
    OwnRaised(job.action, job.own);
  }
}

void PollLoop::Answer(WindowDesk::Open& job) {
  stores_->Opened(job, now_);
  source_->AskAgain();
}

void PollLoop::Answer(WindowDesk::Restore& job) {
  if (catch_up_) {
    catch_up_->Restored(job, now_, released_);
  }
}

// The last answer of window or journal for the partition. All failures pass but two: damage is
// there to stay, and asking again would go on for ever without a word; a store that has regressed
// answers nothing more to this assignment.
void PollLoop::Answered(PartitionId partition, const std::optional<Error>& failure) {
  owned_[partition].failed = failure ? failure->message : "";
  if (failure && failure->code == Code::kCorrupt && Owns(partition)) {
    core_.Halt(partition, failure->message);
  }
  if (failure && failure->code == Code::kRegressed) {
    owned_[partition].regressed = true;
    if (Owns(partition)) {
      regressed_.push_back(partition);
    }
  }
}

// Results of this assignment may be gone from the store, so nothing more of it is committed. The
// next assignment compares store and commit (FitStore) and reads the rest again. An announcement
// under way must end first: it would claim the lost results in the store that is opened then.
void PollLoop::AssignRegressedAnew() {
  for (const PartitionId id : std::exchange(regressed_, {})) {
    const bool goes = stopping_ || rejoining_ ||
                      core_.Status(id).phase == PartitionPhase::kDraining;  // its commits fail
    if (!Owns(id) || goes) {
      continue;
    }
    if (owned_[id].announcing > 0) {
      regressed_.push_back(id);
      continue;
    }
    const PartitionName name = source_->Name(id);
    // A server cannot always tell a restart from a loss; a store on disk can.
    Log(parts_.window->capabilities().remote ? LogLevel::kWarn : LogLevel::kError, "runtime",
        "the window's store may have lost changes that it had acknowledged; the partition is "
        "assigned anew, and its work in hand becomes uncertain or runs again",
        {{"topic", name.topic}, {"partition", name.partition}, {"error", owned_[id].failed}});
    LetGo(id);
    source_->AssignAnew(id);
  }
}

void PollLoop::Do(GiveBackAction& action) {
  if (!Owns(action.partition)) {
    return;
  }
  const bool runs_on = InUse(action.partition);
  if (runs_on) {
    StopRunsOf(action.partition, now_);  // another member may own it at once
  }
  disorder_ |= stopping_ && (runs_on || action.leave_group);
  EndCatchUp(action.partition);
  ForgetRaise(action.partition);
  owned_[action.partition].held = false;
  held_--;
  if (stores_) {
    CloseStore(action.partition, runs_on);
  }
  // While its commit may still land, nobody else may have it: it goes when we leave the group. One
  // that waits for the disk, or was asked for a moment ago, is never sent; one before it may have
  // been, and have got no answer.
  const Owned& owned = owned_[action.partition];
  const bool unsent = Unsend(action.partition) || owned.waits_for_disk;
  const bool in_doubt = action.leave_group && (!unsent || owned.unknown);
  owned_[action.partition].in_doubt = in_doubt;
  if (!in_doubt) {
    source_->GiveBack(action.partition);
  }
  if (in_doubt && !rejoining_) {
    const PartitionName name = source_->Name(action.partition);
    Log(LogLevel::kWarn, "runtime",
        "the outcome of the last commit is not known; leaving the group makes it harmless",
        {{"topic", name.topic}, {"partition", name.partition}});
    rejoining_ = true;
    source_->Refuse();
    DrainAll();
  }
}

// Before the group hears of it: the next owner opens it. At the opaque level it would take the
// claim of a handler that still runs for a dead one's, so it has to wait as long as that may act
// (rule 13).
void PollLoop::CloseStore(PartitionId partition, bool runs_on) {
  const WindowCapabilities& can = parts_.window->capabilities();
  if (runs_on && can.level == Level::kOpaque) {
    stores_->CloseLater(partition, now_ + can.times.handler_timeout);
  } else {
    stores_->Close(partition);
  }
}

void PollLoop::Do(StopAction& action) {
  NoteStop(source_->Name(action.partition), action.offset, action.why);
}

void PollLoop::NoteStop(const PartitionName& name, int64_t offset, const std::string& why) {
  Log(LogLevel::kError, "runtime", "the partition is stopped",
      {{"topic", name.topic}, {"partition", name.partition}, {"offset", offset}, {"why", why}});
  const std::string where = name.partition < 0 ? "" : "/" + std::to_string(name.partition);
  const std::string at = offset < 0 ? "" : " at offset " + std::to_string(offset);
  stops_[{name.topic, name.partition}] =
      name.topic + where + at + ": " + why.substr(0, kLongestReason);
  MarkStopped(name, why);
}

PollLoop::Owned& PollLoop::At(PartitionId partition) {
  if (partition >= owned_.size()) {
    owned_.resize(partition + 1);
  }
  return owned_[partition];
}

void PollLoop::Assigned(PartitionId partition, const AssignFacts& facts) {
  Owned& owned = At(partition);
  owned.held = owned.seen = true;
  owned.in_doubt = owned.waits_for_disk = owned.unknown = owned.regressed = false;
  owned.assignments++;
  std::erase(regressed_, partition);
  owned.unowned.clear();
  owned.failed.clear();
  owned.stopped.clear();
  owned.source = facts.source;
  owned.partition = facts.partition;
  if (parts_.journal != nullptr) {
    parts_.journal->Name(facts.source, source_->Name(partition).topic);
  }
  held_++;
  if (stores_) {
    stores_->Assigned(partition);
  }
  TellSuspects(partition, facts);
  if (catch_up_) {
    catch_up_->Begin(partition, facts);
  }
  core_.Assign(partition, facts, now_);
}

// Before the first of them is handled: the highest count of uncertain ones that is possible.
void PollLoop::TellSuspects(PartitionId partition, const AssignFacts& facts) const {
  int64_t offsets = 0;
  int64_t to = facts.start;
  for (const OffsetMap::Range& range : facts.suspects.ranges()) {
    const int64_t told = std::min(range.to, facts.told_below) - range.from;
    offsets += std::max<int64_t>(told, 0);
    to = told > 0 ? range.from + told : to;
  }
  if (offsets > 0) {
    const PartitionName name = source_->Name(partition);
    Log(LogLevel::kWarn, "runtime",
        "a former owner may have begun these offsets, and no commit calls them finished: they run "
        "as uncertain, an upper bound",
        {{"topic", name.topic},
         {"partition", name.partition},
         {"from", facts.suspects.ranges().front().from},
         {"to", to},
         {"offsets", offsets}});
  }
}

WallTime PollLoop::WallAt(BootTime time) const {
  return {parts_.clock->Wall().micros + (time - parts_.clock->Boot()).count()};
}

// At the level opaque, where other partitions ask the same store for the same ids.
void PollLoop::BeginUnprotected(PartitionId partition, const PartitionName& name,
                                const Assignment& assignment) {
  const WindowCapabilities& can = parts_.window->capabilities();
  std::optional<Lack>& lack = owned_[partition].lack;
  if (!assignment.window_lacks || !assignment.lost_since || options_.ids_partition_owned ||
      can.level != Level::kOpaque) {
    if (lack && !lack->until) {
      lack.reset();  // another member has ended it
    }
    return;
  }
  const AssignFacts& facts = assignment.facts;
  const OffsetMap& map = facts.metadata.map;
  int64_t to = facts.start;
  to = facts.suspects.empty() ? to : std::max(to, facts.suspects.ranges().back().to);
  to = map.empty() ? to : std::max(to, map.ranges().back().to);
  const bool goes_on = lack && !lack->until;
  lack = {.since = goes_on ? std::min(lack->since, *assignment.lost_since) : *assignment.lost_since,
          .to = to,
          .gap_from = facts.metadata.since,
          .gap_to = std::max(facts.metadata.since, facts.known_from)};
  Log(LogLevel::kWarn, "runtime",
      "the window has lost ids of the partition: until it knows them again, their copies in other "
      "partitions may run once more, and are not told as uncertain",
      {{"topic", name.topic},
       {"partition", name.partition},
       {"since_ms", WallAt(lack->since).micros / 1'000},
       {"below_offset", to}});
}

// Finished ids are in the window before the frontier passes them.
void PollLoop::EndUnprotected() {
  for (PartitionId id = 0; id < owned_.size(); id++) {
    std::optional<Lack>& lack = owned_[id].lack;
    if (!lack || lack->until || !Owns(id) || (catch_up_ && catch_up_->Busy(id))) {
      continue;
    }
    const PartitionStatus status = core_.Status(id);
    if (status.phase != PartitionPhase::kActive || status.frontier < lack->to) {
      continue;
    }
    lack->until = now_;
    const PartitionName name = source_->Name(id);
    const int64_t since_ms = WallAt(lack->since).micros / 1'000;
    const int64_t until_ms = WallAt(now_).micros / 1'000;
    if (lack->gap_from == lack->gap_to) {
      Log(LogLevel::kWarn, "runtime", "the window knows all ids of the partition again",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"unprotected_since_ms", since_ms},
           {"unprotected_until_ms", until_ms}});
    } else {
      Log(LogLevel::kWarn, "runtime",
          "the window knows the ids of the partition again, except in a gap that was accepted: "
          "copies of the gap's ids may still run once more, and are not told as uncertain",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"unprotected_since_ms", since_ms},
           {"unprotected_until_ms", until_ms},
           {"gap_from", lack->gap_from},
           {"gap_to", lack->gap_to}});
    }
  }
}

// The catch-up goes on without these offsets.
void PollLoop::NoteGap(PartitionId partition, int64_t from, int64_t to) {
  if (stores_) {
    stores_->RaiseFrom(partition, to);
  }
  std::optional<Lack>& lack = At(partition).lack;
  if (!lack || lack->until || from >= to) {
    return;
  }
  const bool first = lack->gap_from == lack->gap_to;
  lack->gap_from = first ? from : std::min(lack->gap_from, from);
  lack->gap_to = first ? to : std::max(lack->gap_to, to);
}

void PollLoop::Revoked(PartitionId partition) {
  if (Owns(partition)) {
    Drain(partition);
  } else if (partition >= owned_.size() || !owned_[partition].in_doubt) {
    source_->GiveBack(partition);
  }
}

void PollLoop::Drain(PartitionId partition) {
  const BootTime deadline = now_ + options_.drain_deadline;
  StopRunsOf(partition, deadline - options_.drain_deadline / 4);
  core_.Revoke(partition, deadline, now_);
}

void PollLoop::DrainAll() {
  for (PartitionId id = 0; id < owned_.size(); id++) {
    if (owned_[id].held) {
      Drain(id);
    }
  }
}

void PollLoop::Lost(PartitionId partition) {
  if (!Owns(partition)) {
    return;
  }
  const PartitionName name = source_->Name(partition);
  Log(LogLevel::kWarn, "runtime", "the partition was lost to the group",
      {{"topic", name.topic}, {"partition", name.partition}});
  disorder_ |= stopping_;
  LetGo(partition);
}

// At once and without a commit. Runs that are under way end by their tokens.
void PollLoop::LetGo(PartitionId partition) {
  EndCatchUp(partition);
  ForgetRaise(partition);
  owned_[partition].held = false;
  held_--;
  StopRunsOf(partition, now_);
  if (stores_) {
    stores_->CloseLater(partition, HandlersMayActUntil());
  }
  core_.Lost(partition);
}

BootTime PollLoop::HandlersMayActUntil() const {
  const WindowCapabilities& can = parts_.window->capabilities();
  const milliseconds longer =
      can.level == Level::kOpaque ? can.times.handler_timeout : milliseconds(0);
  return now_ + std::max(options_.drain_deadline, longer);
}

// Runs with messages of the partition: no further handler starts; the present one is asked to stop
// at `stop_at`.
void PollLoop::StopRunsOf(PartitionId partition, BootTime stop_at) {
  for (const JobPtr& job : out_) {
    if (job->partition == partition) {
      job->drain_by = std::min(job->drain_by, stop_at);
      job->watch.SetStopAt(job->drain_by);
      job->watch.StopHandling();
    }
  }
}

// A long handler keeps its right to run for as long as commits keep the partition ours; the other
// messages of its run do not wait for it.
void PollLoop::LookAfterSlowRuns() {
  std::vector<Settlement> settled;
  for (const JobPtr& job : out_) {
    if (job->watch.SettleOthers(now_, options_.poll_budget, settled)) {
      job->size = 1;
    }
    StandIn(job);
    // One that is not confirmed yet runs nothing: what concerns it is of an assignment that has
    // ended, and drain_by says until when.
    const BootTime safe = core_.SafeUntil(job->partition);
    const bool ours = Owns(job->partition) && safe != BootTime{};
    job->watch.SetStopAt(ours ? std::min(job->drain_by, safe) : job->drain_by);
  }
  core_.Settle(settled, now_);
  if (stores_) {
    // What is open of a lost partition runs, or is finished and owes its marker.
    stores_->CloseDue(now_, [this](PartitionId partition) {
      return InUse(partition) || core_.Status(partition).counts.open > 0;
    });
  }
}

// A worker whose handler hangs is no worker any more; the other keys need one.
void PollLoop::StandIn(const JobPtr& job) {
  if (!job->on_worker || !job->watch.Hangs(now_, options_.hang_after)) {
    return;
  }
  switch (parts_.crew->StandInFor(job)) {
    case Crew::Stand::kIn:
      with_workers_--;
      stood_in_++;
      Log(LogLevel::kWarn, "runtime", "a handler hangs; another worker stands in for its thread",
          {{"hang_after_ms", options_.hang_after.count()}, {"in_total", stood_in_}});
      break;
    case Crew::Stand::kNotNeeded:
      break;
    case Crew::Stand::kNobodyLeft:
      if (!std::exchange(job->alone_told, true)) {
        Log(LogLevel::kError, "runtime", "a handler hangs, and no worker is left to stand in",
            {{"hang_after_ms", options_.hang_after.count()},
             {"spare_workers", options_.spare_workers}});
      }
      break;
  }
}

void PollLoop::Incident(const PartitionName& partition, int64_t offset, const std::string& why) {
  NoteStop(partition, offset, why);
}

std::optional<Status> PollLoop::Prepare(PartitionId partition, const PartitionName& name,
                                        Assignment& assignment) {
  if (stores_) {
    Owned& owned = At(partition);
    assignment.store_regressed = owned.regressed;
    const auto ready = stores_->Prepare(partition, name, assignment, now_);
    owned.regressed = assignment.store_regressed;  // the store says so once
    if (ready && *ready) {
      BeginUnprotected(partition, name, assignment);
      stores_->AwaitAssigned(partition, HandlersMayActUntil());
    }
    return ready;
  }
  BeginInLog(assignment);
  if (core_.Made(partition, assignment.facts.metadata)) {
    WindowKnowsSuspects(assignment.facts);
  }
  if (!catch_up_) {
    return Status();
  }
  const int64_t frontier =
      partition < owned_.size() && owned_[partition].seen ? core_.Status(partition).frontier : 0;
  return catch_up_->Prepare(catch_up_->KnownUpTo(partition, frontier), options_.catch_up,
                            options_.incomplete == IncompletePolicy::kStop, assignment);
}

bool PollLoop::InUse(PartitionId partition) const {
  return std::any_of(out_.begin(), out_.end(),
                     [&](const JobPtr& job) { return job->partition == partition; });
}

bool PollLoop::CatchUpGap(PartitionId partition, int64_t from, int64_t to) {
  if (catch_up_) {
    catch_up_->Gap(partition, from, to, now_);
  }
  NoteGap(partition, from, to);
  return options_.incomplete == IncompletePolicy::kRun;
}

// What a refusal has handed back is not finished, and it stays above the frontier. Where the broker
// has refused the commit everything may be finished, but none of that is known to the group:
// another assignment would begin below it again.
bool PollLoop::Finished(PartitionId partition) const {
  if (!Owns(partition)) {
    return true;
  }
  const PartitionStatus status = core_.Status(partition);
  if (status.phase == PartitionPhase::kStopped) {
    return false;
  }
  return status.frontier >= status.next_offset && !(catch_up_ && catch_up_->Busy(partition));
}

// Made later, it would refuse the next owner.
void PollLoop::ForgetRaise(PartitionId partition) {
  if (by_desk_) {
    desk_->ForgetRaise(partition);
  }
}

void PollLoop::EndCatchUp(PartitionId partition) {
  if (catch_up_) {
    catch_up_->End(partition, released_);
  }
}

void PollLoop::Failed(const std::string& why) {
  if (error_.empty()) {
    error_ = why;
    Log(LogLevel::kError, "runtime", "the source has failed", {{"why", why}});
  }
  for (PartitionId id = 0; id < owned_.size(); id++) {
    Lost(id);
  }
  stop_asked_.store(true);
}

void PollLoop::BeginStop() {
  stopping_ = true;
  drain_by_ = now_ + options_.drain_deadline;
  // By then the core has given everything back, whatever happened.
  end_by_ = drain_by_ + options_.core.session_margin + kCloseWithin;
  source_->Refuse();
  DrainAll();
}

bool PollLoop::AtEnd() {
  if (rejoining_ && held_ == 0 && !stopping_) {
    rejoining_ = false;
    source_->Rejoin();
  }
  if (!stopping_) {
    return false;
  }
  // Finished work is still owed its marker, so what runs may end before the deadline.
  const bool settled = held_ == 0 && (core_.unfinished() == 0 || now_ >= drain_by_);
  if (!closing_ && (settled || now_ >= end_by_)) {
    closing_ = true;
    end_by_ = now_ + kCloseWithin;
    source_->Close();
  }
  return closing_ && (source_->closed() || now_ >= end_by_);
}

}  // namespace oncemq
