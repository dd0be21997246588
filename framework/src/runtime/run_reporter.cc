// SPDX-License-Identifier: Apache-2.0
#include "run_reporter.h"

#include <algorithm>
#include <utility>

#include "longest_reason.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/trace.h"

namespace oncemq {
namespace {

// Each commit waits for the disk, mostly some milliseconds, no reason for an alarm.
constexpr milliseconds kSlowDisk{1'000};
constexpr microseconds kPublishEvery{50'000};
constexpr size_t kLongestKey = 256;  // of a key in a report

}  // namespace

void RunReporter::Begin() {
  MutexLock lock(mutex_);
  clock_ = poll_.parts.clock;
  reported_at_ = clock_->Boot();
}

void RunReporter::NoteStop(const PartitionName& name, int64_t offset, const std::string& why,
                           std::optional<OpenMessage> message) {
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    // An incident names the partition as the log does.
    if (partitions_[id].held && partitions_[id].partition == name.partition &&
        poll_.source->Name(id).topic == name.topic) {
      partitions_[id].stopped = why.substr(0, kLongestReason);
    }
  }
  if (message) {
    TakeKeys({&*message, 1});
    holdups_.NoteStopper(*message, poll_.now);
  }
  const LogScope traced("trace_id", OpenTraceId, message ? &*message : nullptr);
  Log(LogLevel::kError, "runtime", "the partition is stopped",
      {{"topic", name.topic}, {"partition", name.partition}, {"offset", offset}, {"why", why}});
  const std::string where = name.partition < 0 ? "" : "/" + std::to_string(name.partition);
  const std::string at = offset < 0 ? "" : " at offset " + std::to_string(offset);
  stops_[{name.topic, name.partition}] =
      name.topic + where + at + ": " + why.substr(0, kLongestReason);
}

void RunReporter::NoteFailure(const std::string& why) {
  if (error_.empty()) {
    error_ = why;
    Log(LogLevel::kError, "runtime", "the source has failed", {{"why", why}});
  }
}

void RunReporter::Publish(bool busy) {
  if (busy && poll_.now < published_at_ + kPublishEvery) {
    return;
  }
  published_at_ = poll_.now;
  RunReport report = Make();
  NoteHoldups(report);
  Keep(std::move(report), poll_.now);
}

RunReport RunReporter::Make() {
  RunReport report;
  report.counts = poll_.core.Counts();
  ReportPartitions(report);
  report.caught_up = poll_.catch_up ? poll_.catch_up->restored() : 0;
  report.stood_in = pool_.stood_in();
  report.window_errors = poll_.errors.window();
  report.journal_errors = poll_.errors.journal();
  for (const auto& [partition, stop] : stops_) {
    report.stops.push_back(stop);
  }
  report.error = error_;
  report.unreached = poll_.source->Unreached();
  report.unreached_for = poll_.source->UnreachedFor();
  report.missing = poll_.source->Missing();
  Measure(report);
  report.state = {.joined = poll_.joined,
                  .stopping = poll_.stop_requested.load(std::memory_order_relaxed),
                  .window_fails = poll_.errors.window_fails() && partitions_.held() > 0};
  return report;
}

void RunReporter::Measure(RunReport& report) {
  poll_.errors.Report(report.measures);
  for (size_t place = 0; place < kFencePlaces; place++) {
    report.measures.fence_refusals[place] += report.counts.fenced[place];
  }
  report.measures.handler = poll_.times.handler.Snapshot();
  report.measures.commit = poll_.times.commit.Snapshot();
  report.measures.retry_lateness = poll_.times.retry_lateness.Snapshot();
  ParkedSource* const parked = poll_.source->parked();
  for (size_t i = 0; i < reported_.size(); i++) {
    PartitionMeasures& one = report.partitions[i].measures;
    one.parked = parked != nullptr ? parked->Count(reported_[i]) : std::nullopt;
  }
}

void RunReporter::Keep(RunReport report, BootTime at) {
  MutexLock lock(mutex_);
  report_ = std::move(report);
  reported_at_ = at;
}

void RunReporter::End() {
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

RunReport RunReporter::Report() const {
  MutexLock lock(mutex_);
  RunReport report = report_;
  if (clock_ != nullptr) {
    report.age = std::chrono::duration_cast<milliseconds>(clock_->Boot() - reported_at_);
  }
  return report;
}

void RunReporter::WaitUntilEnded() {
  MutexLock lock(mutex_);
  while (!ended_) {
    changed_.wait(mutex_);
  }
}

RunReporter::Wait RunReporter::WaitsFor(PartitionId partition,
                                        const PartitionStatus& status) const {
  switch (status.phase) {
    case PartitionPhase::kRaising: {
      const std::string& why = partitions_[partition].unowned;
      return {Holder::kStore,
              why.empty() ? "the window has not answered yet" : why.substr(0, kLongestReason)};
    }
    case PartitionPhase::kConfirming:
      return {Holder::kCommit, "the commit that confirms the ownership is not acknowledged yet"};
    case PartitionPhase::kStopped:
      return {Holder::kCommit, "its commit was refused: the group gives it to another member"};
    case PartitionPhase::kActive:
      return WhatHinders(partition, status);
    case PartitionPhase::kNone:
    case PartitionPhase::kDraining:
      break;
  }
  return {};
}

// A partition that has begun, and would work.
RunReporter::Wait RunReporter::WhatHinders(PartitionId partition,
                                           const PartitionStatus& status) const {
  const AssignedPartition& owned = partitions_[partition];
  if (!owned.failed.empty()) {
    return {Holder::kStore, owned.failed.substr(0, kLongestReason)};
  }
  if (const auto since = owned.flight.with_store_since; since && poll_.now - *since >= kSlowDisk) {
    return {Holder::kStore, poll_.remote ? "its commit waits for the store of the window"
                                         : "its commit waits for the disk"};
  }
  if (owned.flight.unknown) {
    return {Holder::kCommit, "the broker has not answered its last commit"};
  }
  if (status.map_full) {
    return {Holder::kCommit, "its commit has no room for more that is finished above offset " +
                                 std::to_string(status.frontier) + ", which is not"};
  }
  const auto left = poll_.catch_up ? poll_.catch_up->LeftOf(partition) : std::nullopt;
  if (left) {
    return {Holder::kStore, "its window is completed from the log: at offset " +
                                std::to_string(left->at) + " of [" + std::to_string(left->from) +
                                ", " + std::to_string(left->start) + ")"};
  }
  return {};
}

void RunReporter::ReportPartitions(RunReport& report) {
  const std::map<PartitionId, NotBegun>& not_begun = poll_.source->not_begun();
  const bool unreached = !poll_.source->Unreached().empty();
  reported_.clear();
  const auto add = [&report](PartitionReport one, const NotBegun& waits) {
    (waits.stopped ? one.stopped : one.waiting) = waits.why.substr(0, kLongestReason);
    one.waits_for = waits.holder;
    report.partitions.push_back(std::move(one));
  };
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    const AssignedPartition& owned = partitions_[id];
    if (!owned.seen) {
      continue;
    }
    reported_.push_back(id);
    PartitionName name = poll_.source->Name(id);
    PartitionReport one{std::move(name.topic), name.partition, poll_.core.Status(id), owned.source};
    if (const auto left = poll_.catch_up ? poll_.catch_up->LeftOf(id) : std::nullopt) {
      one.measures.catch_up_left = std::max<int64_t>(left->start - left->at, 0);
    }
    if (const auto& missing_ids = owned.missing_ids) {
      one.unprotected =
          UnprotectedTime{.since = poll_.WallAt(missing_ids->since),
                          .until = std::nullopt,
                          .lasted = missing_ids->until.value_or(poll_.now) - missing_ids->since};
      if (missing_ids->until) {
        one.unprotected->until = poll_.WallAt(*missing_ids->until);
      }
    }
    if (const auto waits = not_begun.find(id); waits != not_begun.end() && !owned.held) {
      add(std::move(one), waits->second);
      continue;
    }
    if (owned.held) {
      one.stopped = owned.stopped;
      Wait wait = one.stopped.empty() ? WaitsFor(id, one.status) : Wait{};
      one.waiting = std::move(wait.why);
      one.waits_for = wait.holder == Holder::kNone && unreached ? Holder::kBroker : wait.holder;
    }
    report.partitions.push_back(std::move(one));
  }
  for (const auto& [id, waits] : not_begun) {
    if (id >= partitions_.size() || !partitions_[id].seen) {
      reported_.push_back(id);
      PartitionReport one{waits.name.topic, waits.name.partition};
      one.begun = false;
      add(std::move(one), waits);
    }
  }
}

void RunReporter::NoteHoldups(RunReport& report) {
  const bool logs_due = holdups_.LogsDue(poll_.now);
  for (size_t i = 0; i < reported_.size(); i++) {
    const PartitionId id = reported_[i];
    if (logs_due) {
      holdups_.SeeLog(id, partitions_.Owns(id) ? poll_.source->LogOf(id) : LogSight{});
    }
    holdups_.Note(id, report.partitions[i], poll_.now);
    report.partitions[i].measures.trend = JudgeLag(id, report.partitions[i]);
  }
  std::vector<OpenMessage> open = holdups_.ListOpen(poll_.now);
  if (!open.empty()) {
    poll_.core.FindOldest(open);
    TakeKeys(open);
    holdups_.Keep(std::move(open));
  }
  const LogTime wall(
      std::chrono::floor<milliseconds>(std::chrono::microseconds(poll_.WallAt(poll_.now).micros)));
  for (size_t i = 0; i < reported_.size(); i++) {
    std::optional<HeldBy>& oldest = report.partitions[i].oldest;
    holdups_.Describe(reported_[i], report.partitions[i], poll_.now, wall);
    if (oldest && oldest->message.state == OpenState::kRunning) {
      oldest->with = pool_.WhereIs(reported_[i], oldest->message.offset);
    }
  }
  holdups_.ReportHoldups(report, poll_.now);
}

LagTrend RunReporter::JudgeLag(PartitionId id, const PartitionReport& one) {
  if (!partitions_.Owns(id) || !one.lag) {
    return LagTrend::kOk;
  }
  AssignedPartition& owned = partitions_[id];
  // Each acknowledgement moves it.
  const BootTime safe = poll_.core.SafeUntil(id);
  if (safe != owned.committed_for && safe != BootTime{}) {
    owned.committed_for = safe;
    owned.lags.Note(poll_.now, one.status.committed, *one.lag);
  }
  return owned.lags.Judge(poll_.now, *one.lag);
}

// A released message has no key to read, and the core releases none before its next call.
void RunReporter::TakeKeys(std::span<OpenMessage> messages) {
  if (view_ == nullptr) {
    view_ = poll_.source->NewView();
  }
  for (OpenMessage& message : messages) {
    if (void* const place = std::exchange(message.message, nullptr)) {
      const Message& shown = view_->Show(place);
      if (const auto key = shown.key()) {
        message.key = key->substr(0, kLongestKey);
      }
      message.trace_id = TraceOf(shown).id();
    }
  }
}

std::vector<FoundMessage> RunReporter::FindOpen(const std::string& id) {
  std::vector<OpenMessage> asked;
  for (PartitionId partition = 0; partition < partitions_.size() && !id.empty(); partition++) {
    asked.push_back({.partition = partition, .id = id});
  }
  poll_.core.FindOldest(asked);
  std::erase_if(asked, [](const OpenMessage& message) { return message.offset < 0; });
  TakeKeys(asked);
  for (PartitionId partition = 0; partition < partitions_.size(); partition++) {
    const OpenMessage* const stopper = holdups_.StopperOf(partition);
    if (stopper != nullptr && stopper->id == id && !id.empty()) {
      asked.push_back(*stopper);
    }
  }
  std::vector<FoundMessage> found;
  for (OpenMessage& message : asked) {
    PartitionName name = poll_.source->Name(message.partition);
    std::optional<milliseconds> next_try;
    if (message.next_try) {
      next_try = std::chrono::duration_cast<milliseconds>(
          std::max(*message.next_try - poll_.now, microseconds(0)));
    }
    found.push_back({std::move(name.topic), name.partition, std::move(message), next_try});
  }
  return found;
}

}  // namespace oncemq
