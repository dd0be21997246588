// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/assignment.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace oncemq {
namespace {

// A history that begins here: nothing below `offset` is known to be finished (rule 5).
CommitMetadata NewHistory(int64_t offset, int64_t top, const AssignRules& rules) {
  CommitMetadata metadata;
  metadata.scope = rules.scope;
  metadata.recipe = rules.recipe;
  metadata.source_identity = rules.source_identity;
  metadata.since = offset;
  metadata.top = top;
  return metadata;
}

Error Incident(Code code, std::string text) {
  return {code, Effect::kNone, std::move(text)};
}

std::optional<Error> Outside(int64_t offset, const LogBounds& log) {
  if (offset > log.end) {
    return Incident(Code::kCorrupt, "committed offset " + std::to_string(offset) +
                                        " is beyond the end of the log (" +
                                        std::to_string(log.end) +
                                        "): the topic was re-created or truncated");
  }
  if (offset < log.start) {
    return Incident(Code::kCorrupt, "records " + std::to_string(offset) + " to " +
                                        std::to_string(log.start - 1) +
                                        " are gone from the log and were never handled");
  }
  return std::nullopt;
}

// Adds [from, to) to the list. It must fit the metadata for ever, so a long one is closed up: that
// may only call finished offsets unfinished.
void ListSkipped(int64_t from, int64_t to, OffsetMap& skipped) {
  if (!skipped.empty() &&
      (skipped.ranges().size() >= kMaxSkipped || skipped.ranges().back().to > from)) {
    const OffsetMap old = std::exchange(skipped, {});
    skipped.Append(std::min(from, old.ranges().front().from), std::max(to, old.ranges().back().to));
  } else {
    skipped.Append(from, to);
  }
}

// Passes over what is gone from the log, [from, to), by policy. What the map calls finished in it
// is counted already; the rest is counted as skipped. Returns where to start.
int64_t Skip(int64_t from, int64_t to, CommitMetadata& metadata) {
  OffsetMap rest;
  int64_t start = to;
  int64_t finished = 0;
  for (const OffsetMap::Range& range : metadata.map.ranges()) {
    if (range.from > to) {
      rest.Append(range.from, range.to);
      continue;
    }
    finished += std::min(range.to, to) - range.from;
    start = std::max(start, range.to);
  }
  metadata.totals.skipped += to - from - finished;
  ListSkipped(from, to, metadata.skipped);
  OffsetMap not_done;
  for (const OffsetMap::Range& range : metadata.not_done.ranges()) {
    if (range.from >= start) {
      not_done.Append(range.from, range.to);
    }
  }
  metadata.not_done = std::move(not_done);
  metadata.map = std::move(rest);
  metadata.top = std::max(metadata.top, start);
  return start;
}

std::string SkipNotice(int64_t from, int64_t to) {
  return "records " + std::to_string(from) + " to " + std::to_string(to - 1) +
         " are gone from the log and were never handled: skipped by policy, and counted";
}

// The offsets from the start on that may have been begun, and that the commit does not call
// finished (rule 11). A commit that was acknowledged comes before the first call of a handler, so
// without a commit nobody has begun anything. No former owner has read beyond the log's end.
OffsetMap SuspectsOf(const Assignment& assignment) {
  const CommitMetadata& metadata = assignment.facts.metadata;
  const int64_t start = assignment.facts.start;
  const int64_t end = assignment.log.end;
  OffsetMap suspects;
  if (metadata.clean) {
    std::vector<int64_t> begun = metadata.abandoned;
    std::sort(begun.begin(), begun.end());
    begun.erase(std::unique(begun.begin(), begun.end()), begun.end());
    for (const int64_t offset : begun) {
      if (offset >= start && offset < end && !metadata.map.Contains(offset)) {
        suspects.Append(offset, offset + 1);
      }
    }
    return suspects;
  }
  const int64_t to = std::min(metadata.reserved.value_or(end), end);
  int64_t from = start;
  for (const OffsetMap::Range& finished : metadata.map.ranges()) {
    if (from < std::min(finished.from, to)) {
      suspects.Append(from, std::min(finished.from, to));
    }
    from = std::max(from, finished.to);
  }
  if (from < to) {
    suspects.Append(from, to);
  }
  return suspects;
}

std::optional<Error> NotOurs(const CommitMetadata& metadata, const AssignRules& rules) {
  if (metadata.scope != rules.scope) {
    return Incident(Code::kInvalid, "the group's commit belongs to another scope");
  }
  if (metadata.recipe != rules.recipe) {
    return Incident(Code::kInvalid, "the group's commit was made with id recipe " +
                                        std::to_string(metadata.recipe) + ", ours is " +
                                        std::to_string(rules.recipe));
  }
  if (metadata.source_identity != rules.source_identity) {
    return Incident(Code::kInvalid, "the group's commit was made for another cluster or topic");
  }
  return std::nullopt;
}

}  // namespace

Result<Assignment> ResolveAssignment(const CommittedPosition& committed, const LogBounds& log,
                                     const AssignRules& rules) {
  Assignment assignment;
  assignment.log = log;
  assignment.facts.log_end = log.end;
  if (!committed.offset) {
    assignment.facts.start = assignment.facts.read_from = rules.fresh_start;
    assignment.facts.metadata = NewHistory(rules.fresh_start, rules.fresh_start, rules);
    return assignment;
  }
  const int64_t offset = *committed.offset;
  const bool goes_on = offset < log.start && rules.resume_at_log_start;  // see BeginInLog()
  if (auto outside = Outside(offset, log); outside && !goes_on) {
    return *outside;
  }
  assignment.facts.start = assignment.facts.read_from = offset;
  auto metadata = DecodeCommit(committed.metadata, offset);
  if (!metadata && metadata.error().code == Code::kInvalid) {
    return metadata.error();
  }
  assignment.history = metadata ? History::kOurs : History::kForeign;
  if (!metadata) {
    // How far anybody has come is not known, but not beyond what is in the log by now: what follows
    // is a first delivery, however old its stamp (rule 23).
    assignment.facts.metadata = NewHistory(assignment.facts.start, log.end, rules);
    assignment.notice = metadata.error().message + ": taken as an operator's reset to offset " +
                        std::to_string(offset) + "; what lies below it is not known to be finished";
    if (rules.suspects) {
      assignment.facts.suspects = SuspectsOf(assignment);  // nor is it known who came how far
    }
    return assignment;
  }
  if (auto not_ours = NotOurs(*metadata, rules)) {
    return *not_ours;
  }
  if (!metadata->map.empty() && metadata->map.ranges().back().to > log.end) {
    return Incident(Code::kCorrupt, "the commit's map reaches beyond the end of the log");
  }
  assignment.facts.metadata = std::move(*metadata);
  if (rules.suspects) {
    assignment.facts.suspects = SuspectsOf(assignment);
  }
  return assignment;
}

void WindowKnowsSuspects(AssignFacts& facts) {
  // A list of a clean end is short, and names also messages of which that owner could not know.
  if (!facts.metadata.clean) {
    facts.reported_below = facts.metadata.inherited;
  }
}

void BeginInLog(Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  const int64_t log_start = assignment.log.start;
  if (facts.start >= log_start) {
    return;
  }
  assignment.AddNotice(SkipNotice(facts.start, log_start));
  const bool reads = facts.read_from != facts.start;
  if (assignment.history == History::kForeign) {
    facts.metadata.since = facts.start = log_start;
  } else {
    facts.start = Skip(facts.start, log_start, facts.metadata);
  }
  facts.read_from =
      reads ? std::min(facts.start, std::max(facts.read_from, log_start)) : facts.start;
}

CatchUpPlan PlanCatchUp(const AssignFacts& facts, const LogBounds& log, int64_t most,
                        bool reads_park) {
  const CommitMetadata& metadata = facts.metadata;
  if (metadata.since >= facts.start) {
    return {facts.start, {}};  // a history that begins here has no past
  }
  // Refused messages are known from here on.
  const auto recorded = reads_park ? metadata.RecordedFrom() : std::nullopt;
  const int64_t told_from =
      metadata.refused() == 0 ? metadata.since : recorded.value_or(facts.start);
  if (told_from >= facts.start) {
    return {facts.start,
            "messages were refused or parked, and which ones only a journal could tell"};
  }
  CatchUpPlan plan{std::max({metadata.since, log.start, told_from}), {}};
  if (log.compacted) {
    plan.gap = "the topic is compacted, and ids that it has lost are not seen";
  }
  if (log.start > metadata.since) {
    plan.gap = "the log begins at " + std::to_string(log.start);
  }
  if (plan.from > std::max(metadata.since, log.start)) {
    plan.gap = "what was refused below " + std::to_string(told_from) + " is not in the park topic";
  }
  if (facts.start - plan.from > most) {
    plan.from = facts.start - most;
    plan.gap = "the budget is " + std::to_string(most) + " offsets";
  }
  return plan;
}

}  // namespace oncemq
