// SPDX-License-Identifier: Apache-2.0
// Partitions that are assigned anew though the group has not asked for it: the runtime wants it
// (AssignAnew), or retention has overtaken them.
//
// A partition that retention has overtaken: what was to be read next is gone from the log.
// librdkafka gives such a partition up, and only a new assign call starts it again. Below the start
// of an assignment it goes on where the log begins now, and the window learns of the gap (rule 6).
// Above it, records are gone that were never handled: where the policy skips them, the partition is
// drained and assigned anew, so that they are counted as at any other assignment. Where nothing is
// gone, and nothing was read since the partition was started, the error was of an earlier fetch,
// and it goes on where it is. What was read further may have been cut off, and other records may
// have grown in its place since: that is a stop.
#include <algorithm>
#include <utility>

#include "broker_error.h"
#include "member.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr int kMostUnexplained = 10;  // range errors at one place, with nothing read in between

}  // namespace

bool Member::GoesOnAtLogStart(const Reader& reader) const {
  return !group_.refusing &&
         (reader.next < reader.start ||
          options_.kafka.out_of_range == KafkaOptions::OutOfRange::kResumeAtLogStart);
}

void Member::FollowLog(SourceEvents& events) {
  const BootTime now = clock_.Boot();
  const bool due = now >= follow_at_;
  if (due && !TakeOut()) {
    follow_at_ = RetryAt(now, now);
    return;
  }
  if (group_.answered_early) {
    return;  // what was a revocation is read first: what the group took is not assigned again
  }
  std::vector<PartitionId> ids;
  for (const auto& [id, overtaken] : overtaken_) {
    ids.push_back(id);
  }
  for (const PartitionId id : ids) {
    const auto found = overtaken_.find(id);
    if (found == overtaken_.end()) {
      continue;
    }
    if (!found->second.known) {
      if (due && clock_.Boot() >= follow_at_) {
        FindLogStart(id, events);
      }
    } else if (IsOut(id) && events.Finished(id) && !commits_->Awaits({&id, 1})) {
      BeginAnew(id, events);
    }
  }
}

// A cooperative group's librdkafka assigns a partition anew only after it was unassigned, and takes
// every unassign call for the answer to a revocation, also to one that lies in our queue unread.
// Then the group has gone on already, and what it took is lost. False: nothing was taken out.
bool Member::TakeOut() {
  std::vector<PartitionId> ids;
  for (const auto& [id, overtaken] : overtaken_) {
    if (cooperative_ && !group_.taken_out.contains(id)) {
      ids.push_back(id);
    }
  }
  if (ids.empty()) {
    return true;
  }
  const ErrorPtr error(rd_kafka_incremental_unassign(client_.get(), ListOf(ids).get()));
  AwaitStopped();
  LogCall("a partition was not taken out of the assignment", error.get());
  if (error != nullptr) {
    return false;
  }
  group_.taken_out.insert(ids.begin(), ids.end());
  group_.answered_early = true;
  return true;
}

// Whether librdkafka would assign the partition anew. Otherwise it refuses the call and goes on
// where it was, and commits would count all records before that place as handled.
bool Member::IsOut(PartitionId id) const {
  return !cooperative_ || group_.taken_out.contains(id);
}

// Blocks as long as a broker is silent.
void Member::FindLogStart(PartitionId id, SourceEvents& events) {
  const PartitionName& name = table_.Name(id);
  const BootTime began = clock_.Boot();
  const auto log = starts_.Bounds(name.topic.c_str(), name.partition);
  if (!log) {
    follow_at_ = RetryAt(began, clock_.Boot());
    Log(LogLevel::kWarn, "kafka", "where the log begins is not known yet",
        {{"topic", name.topic}, {"partition", name.partition}, {"error", ToString(log.error())}});
    if (!MayAnswerLater(id, log.error())) {
      StopOvertaken(id, log.error().message, events);
    }
    return;
  }
  unknown_since_.erase(id);
  Overtaken& overtaken = overtaken_.at(id);
  Reader& reader = readers_.at(id);
  if (log->start <= reader.next) {
    GoOnThere(id, *log, events);
    return;
  }
  if (reader.next < reader.start) {
    const int64_t to = std::min(log->start, reader.start);
    if (!events.CatchUpGap(id, std::exchange(reader.next, to), to)) {
      StopOvertaken(id, overtaken.why, events);
      return;
    }
    if (log->start <= reader.start) {
      GoOnAt(id, to);
      return;
    }
  }
  if (!GoesOnAtLogStart(reader)) {
    StopOvertaken(id, overtaken.why, events);
    return;
  }
  Log(LogLevel::kWarn, "kafka",
      "records are gone from the log before they were read; the partition goes on where it begins, "
      "once what was read is finished",
      {{"topic", name.topic},
       {"partition", name.partition},
       {"from", reader.next},
       {"log_start", log->start}});
  overtaken.known = true;
}

// What is to be read next lies in the log, or behind its end.
void Member::GoOnThere(PartitionId id, const LogBounds& log, SourceEvents& events) {
  Reader& reader = readers_.at(id);
  reader.unexplained = reader.broken_at == reader.next ? reader.unexplained + 1 : 1;
  reader.broken_at = reader.next;
  const bool cut = log.end < reader.next || reader.next != reader.begun;
  const bool often = reader.unexplained > kMostUnexplained;
  if (cut || often) {
    StopOvertaken(id, overtaken_.at(id).why, events);
    return;
  }
  GoOnAt(id, reader.next);
}

// Where the client does not take it, the log is looked at again later.
void Member::GoOnAt(PartitionId id, int64_t next) {
  Reader& reader = readers_.at(id);
  Start(id, next, reader.start);
  if (ApplyAssignment({&id, 1}, false)) {
    overtaken_.erase(id);
    return;
  }
  reader.stopped = true;
  ListReadable();
  const BootTime now = clock_.Boot();
  follow_at_ = RetryAt(now, now);
}

void Member::StopOvertaken(PartitionId id, const std::string& why, SourceEvents& events) {
  events.Incident(table_.Name(id), readers_.at(id).next, why);
  overtaken_.erase(id);
}

// Goes on as a partition that retention has overtaken and that is finished. A commit that waits for
// its look is dropped: it may count effects that are gone.
void Member::AssignAnew(PartitionId id) {
  const auto found = readers_.find(id);
  if (found == readers_.end() || group_.refusing) {
    return;
  }
  found->second.stopped = true;
  ListReadable();
  commits_->Forget(id);
  overtaken_[id] = {.why = "it is assigned anew", .known = true};
}

// GiveBack() asks where it starts.
void Member::BeginAnew(PartitionId id, SourceEvents& events) {
  overtaken_.erase(id);
  anew_.insert(id);
  events.Revoked(id);
}

}  // namespace oncemq
