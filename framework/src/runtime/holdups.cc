// SPDX-License-Identifier: Apache-2.0
#include "holdups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kLogsEvery{250'000};
constexpr microseconds kStuckAfter{1'000'000};
constexpr microseconds kListOpenEvery{1'000'000};
constexpr milliseconds kReportAfter{10'000};  // a shorter stay is not worth a line
constexpr microseconds kReportEvery{30'000'000};
constexpr size_t kLongestId = 256;  // in the log

milliseconds Since(BootTime then, BootTime now) {
  return std::chrono::duration_cast<milliseconds>(std::max(now - then, microseconds(0)));
}

std::optional<milliseconds> Since(std::optional<BootTime> then, BootTime now) {
  return then ? std::optional(Since(*then, now)) : std::nullopt;
}

int64_t Seconds(milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

bool Waits(const PartitionReport& one) {
  return !one.waiting.empty() && one.unmoved >= kReportAfter;
}

bool IsHeld(const PartitionReport& one) {
  return one.stopped.empty() && one.oldest && one.oldest->held_for >= kReportAfter;
}

// A message without a reason of its own waits as its partition does.
const std::string& WhyHeld(const PartitionReport& one) {
  return one.oldest->message.why.empty() ? one.waiting : one.oldest->message.why;
}

// Partitions with the same reason: the one that has waited longest, and how many there are.
struct AlikeHoldups {
  const PartitionReport* longest = nullptr;
  milliseconds time{0};
  size_t partitions = 0;

  void Add(const PartitionReport& one, milliseconds waited) {
    longest = longest == nullptr || waited > time ? &one : longest;
    time = std::max(time, waited);
    partitions++;
  }
};

void ReportWaiting(const AlikeHoldups& alike) {
  const PartitionReport& one = *alike.longest;
  Log(LogLevel::kWarn, "runtime", "the partition waits",
      {{"topic", one.topic},
       {"partition", one.partition},
       {"why", one.waiting},
       {"seconds", Seconds(alike.time)},
       {"partitions", alike.partitions}});
}

bool IsPlainAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

void ReportHeld(const AlikeHoldups& alike) {
  const PartitionReport& one = *alike.longest;
  const OpenMessage& message = one.oldest->message;
  const LogScope traced("trace_id", OpenTraceId, &message);
  const bool plain = IsPlainAscii(message.id);
  const std::string id = plain ? message.id : HexOfBytes(message.id);
  Log(LogLevel::kWarn, "runtime", "a message holds up the commits of its partition",
      {{"topic", one.topic},
       {"partition", one.partition},
       {"offset", message.offset},
       {plain ? "id" : "id_hex", id.substr(0, kLongestId)},
       {"state", ToString(message.state)},
       {"attempt", message.attempt},
       {"why", WhyHeld(one)},
       {"next_try_s", one.oldest->next_try ? Seconds(*one.oldest->next_try) : -1},
       {"seconds", Seconds(alike.time)},
       {"retrying", one.status.retrying},
       {"partitions", alike.partitions}});
}

}  // namespace

Holdups::Partition& Holdups::At(PartitionId id) {
  if (id >= partitions_.size()) {
    partitions_.resize(id + 1);
  }
  return partitions_[id];
}

bool Holdups::LogsDue(BootTime now) {
  if (now < logs_at_) {
    return false;
  }
  logs_at_ = now + kLogsEvery;
  return true;
}

void Holdups::SeeLog(PartitionId id, const LogSight& log) {
  At(id).log = log;
}

// Above the end of reading there may be records of an open transaction. Nothing can be done about
// them yet.
bool Holdups::HasWork(const PartitionReport& one, const LogSight& log) {
  const PartitionStatus& status = one.status;
  if (!one.stopped.empty() || !one.waiting.empty()) {
    return true;
  }
  const bool unread = log.end > status.next_offset && log.read_to < status.next_offset;
  return status.phase != PartitionPhase::kNone && (status.counts.open > 0 || unread);
}

void Holdups::Note(PartitionId id, PartitionReport& one, BootTime now) {
  Partition& of = At(id);
  const PartitionStatus& status = one.status;
  const bool ours = status.phase != PartitionPhase::kNone;
  if (ours && of.log.end >= 0) {
    one.log_end = of.log.end;
    one.lag = std::max<int64_t>(0, of.log.end - status.frontier);
  }
  if (ours) {
    const FetchSight& fetch = of.log.fetch;
    one.client = {fetch.state, Since(fetch.record_at, now), Since(fetch.answer_at, now)};
  }
  const Mark mark{status.epoch, status.counts.deliveries - status.counts.open,
                  one.measures.catch_up_left};
  if (mark != of.mark || !HasWork(one, of.log)) {
    of.mark = mark;
    of.moved_at = now;
  }
  one.unmoved = Since(of.moved_at, now);
  const bool open = ours && status.counts.open > 0 && status.frontier < status.next_offset;
  if (!open || !of.stands || status.frontier != of.frontier || status.epoch != of.epoch) {
    of.stands = open;
    of.epoch = status.epoch;
    of.frontier = status.frontier;
    of.stands_since = now;
    of.oldest.reset();
  }
  of.lowest = open ? of.lowest : kNoLogTime;
  if (one.stopped.empty()) {
    of.stopper.reset();
  }
}

void Holdups::NoteStopper(OpenMessage message, BootTime now) {
  Partition& of = At(message.partition);
  of.stopped_at = now;
  of.stopper = std::move(message);
}

const OpenMessage* Holdups::StopperOf(PartitionId id) const {
  return id < partitions_.size() && partitions_[id].stopper ? &*partitions_[id].stopper : nullptr;
}

std::vector<OpenMessage> Holdups::ListOpen(BootTime now) {
  std::vector<OpenMessage> wanted;
  if (now < list_open_at_) {
    return wanted;
  }
  list_open_at_ = now + kListOpenEvery;
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    partitions_[id].oldest.reset();
    partitions_[id].lowest = kNoLogTime;
    if (partitions_[id].stands) {
      wanted.emplace_back().partition = id;
    }
  }
  return wanted;
}

void Holdups::Keep(std::vector<OpenMessage> found) {
  for (OpenMessage& message : found) {
    if (message.offset >= 0) {
      Partition& of = At(message.partition);
      of.lowest = message.time;
      of.oldest = std::move(message);
    }
  }
}

void Holdups::Describe(PartitionId id, PartitionReport& one, BootTime now, LogTime wall) const {
  const Partition& of = partitions_[id];
  const LogTime lowest = of.stopper ? of.stopper->time : of.lowest;
  if (one.lag) {
    one.measures.lag_time = *one.lag == 0          ? milliseconds(0)
                            : lowest != kNoLogTime ? std::max(wall - lowest, milliseconds(0))
                                                   : one.unmoved;
  }
  if (of.stopper) {
    one.oldest = HeldBy{.message = *of.stopper, .held_for = Since(of.stopped_at, now)};
    return;
  }
  if (!of.oldest || now - of.stands_since < kStuckAfter) {
    return;
  }
  HeldBy held{.message = *of.oldest, .held_for = Since(of.stands_since, now)};
  if (of.oldest->next_try) {
    held.next_try = Since(now, *of.oldest->next_try);
  }
  one.oldest = std::move(held);
}

void Holdups::ReportHoldups(const RunReport& report, BootTime now) {
  if (now < report_at_) {
    return;
  }
  // Whether a message is in the way, and why. A store that is away holds up all of them at once.
  std::map<std::pair<bool, std::string>, AlikeHoldups> found;
  for (const PartitionReport& one : report.partitions) {
    if (Waits(one)) {
      found[{false, one.waiting}].Add(one, one.unmoved);
    }
    if (IsHeld(one)) {
      const std::string_view state = ToString(one.oldest->message.state);
      found[{true, std::string(state) + WhyHeld(one)}].Add(one, one.oldest->held_for);
    }
  }
  size_t reported = 0;
  for (const auto& [kind, alike] : found) {
    if (reported++ < kMostReported) {
      kind.first ? ReportHeld(alike) : ReportWaiting(alike);
    }
  }
  if (found.size() > kMostReported) {
    Log(LogLevel::kWarn, "runtime", "partitions wait, or are held up, for more reasons",
        {{"reasons", found.size()}, {"told", kMostReported}});
  }
  report_at_ = found.empty() ? report_at_ : now + kReportEvery;
}

}  // namespace oncemq
