// SPDX-License-Identifier: Apache-2.0
// Where a partition starts, from what the broker says about it. Pure logic: the source asks the
// broker, this judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/framework/core.h"

namespace oncemq {

struct CommittedPosition {
  std::optional<int64_t> offset;  // nothing: the group has no commit for this partition
  std::string metadata;
};

struct LogBounds {
  int64_t start = 0;
  int64_t end = 0;
  bool compacted = false;  // of what lies between, records may be gone, and nothing shows which
};

struct AssignRules {
  uint64_t scope = 0;
  uint32_t recipe = 1;
  uint64_t source_identity = 0;
  int64_t fresh_start =
      0;  // where a partition without a commit begins, resolved by the start policy
  bool resume_at_log_start = false;  // where records are gone that were never handled: skip them
  bool suspects = false;             // as in CoreOptions
};

// What stands behind an assignment.
enum class History : uint8_t {
  kNone,     // the group has no commit
  kForeign,  // one without our metadata: an operator's act
  kOurs,
};

struct Assignment {
  AssignFacts facts;
  LogBounds log;
  History history = History::kNone;
  std::string cluster;  // the source fills it in
  // The window's store has lost changes that this process was told of.
  bool store_lost_writes = false;
  // It has not all that the commit calls finished, or may have lost more. Ids of the partition are
  // not known to other partitions until they are finished, or read, once more.
  bool missing_ids = false;
  std::optional<BootTime> lost_since;  // as of StoreKnowledge
  std::string notice;  // for the log, where something unusual was found and accepted; else empty

  void AddNotice(std::string_view text) {
    notice += notice.empty() ? "" : "; ";
    notice += text;
  }
};

// Errors are incidents: the partition must not start, and the text says what was found. Never an
// answer by reset.
//   kCorrupt: the commit lies outside the log, and no policy says to skip what is gone (re-created
//   or truncated topic, or records lost to retention)
//   kInvalid: the commit belongs to another scope, recipe, source or version
// A start below the log's is one that the policy allows. A store judges it as it stands; then
// BeginInLog() moves it.
Result<Assignment> ResolveAssignment(const CommittedPosition& committed, const LogBounds& log,
                                     const AssignRules& rules);

// Where the start is gone from the log: passes over what nobody has handled, and counts it as
// skipped.
void BeginInLog(Assignment& assignment);

// For a window that has all markers of the owner that made the commit: it knows the messages that
// this owner has begun. The handler is told only of those that were in doubt for that owner too
// (rule 11).
void WindowKnowsSuspects(AssignFacts& facts);

// How much of a window that forgot its past can be told from the log (catch-up).
struct CatchUpPlan {
  int64_t from = 0;  // read from here; equal to the start where there is nothing to read
  std::string gap;   // why ids below `from` stay unknown; empty where none are
};

// Everything in [since, start) that no record says otherwise about is finished: reading it again
// gives the markers back. Refuses where outcomes exist that log and commit cannot tell (rule 4),
// and reads at most `most` offsets. With `reads_park` the park topic is read first, and
// tells them.
CatchUpPlan PlanCatchUp(const AssignFacts& facts, const LogBounds& log, int64_t most,
                        bool reads_park = false);

}  // namespace oncemq
