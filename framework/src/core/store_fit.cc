// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/store_fit.h"

#include <algorithm>
#include <string>
#include <utility>

namespace oncemq {
namespace {

Error Incident(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

// Whether the commit was made on top of this very store. A copy of it that has gone its own way,
// one that was restored, or another host's: their commits say nothing about ours.
bool IsContinuation(const StoreKnowledge& known, const CommitMetadata& metadata) {
  return metadata.incarnation != 0 && (std::find(known.earlier.begin(), known.earlier.end(),
                                                 metadata.incarnation) != known.earlier.end() ||
                                       metadata.incarnation == known.incarnation);
}

bool Used(const StoreKnowledge& known) {
  return known.offset >= 0;
}

std::string Position(int64_t offset) {
  return "offset " + std::to_string(offset);
}

// The first commit was announced and never landed, or nothing came of it: goes on where it was to
// begin. Any other place would be a choice that nobody has made (rule 6).
bool NothingDone(const StoreKnowledge& known, Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  auto first = Used(known) ? DecodeCommit(known.metadata, known.offset)
                           : Error{Code::kNotFound, Effect::kNone, "not used"};
  if (!first || first->totals.sum() > 0 || known.offset < assignment.log.start) {
    return false;
  }
  facts.start = facts.read_from = facts.known_from = known.offset;
  facts.metadata = *std::move(first);
  return true;
}

// What was announced and whose commit never landed comes again, and is recognised. Where the log
// has dropped it, nothing comes: then what was announced stands for the commit, or all of it would
// count as skipped.
void FollowAnnouncement(const StoreKnowledge& known, Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  if (facts.start >= assignment.log.start || known.offset <= facts.start) {
    return;
  }
  auto announced = DecodeCommit(known.metadata, known.offset);
  if (announced && announced->since == facts.metadata.since) {
    announced->top = std::max(announced->top, facts.metadata.top);
    facts.start = facts.read_from = known.offset;
    facts.metadata = *std::move(announced);
  }
}

// What an operator committed: below it nothing is known to be finished, but what this store knows.
Status FitReset(const StoreKnowledge& known, const StoreRules& rules, Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  if (rules.level == Level::kAtomic && Used(known) && facts.start > known.offset) {
    return Incident("a commit that is not ours stands at " + Position(facts.start) +
                    ", and the store has effects up to " + Position(known.offset) +
                    " only: what lies between would never be handled");
  }
  const bool covered = facts.start >= known.from && facts.start <= known.to;
  facts.known_from = covered ? known.from : facts.start;
  if (Used(known) && facts.start > known.to) {
    assignment.AddNotice("copies of what lies below are not recognised");
  }
  return {};
}

// What is to be read or handled again may not come: compaction keeps the last record of each key.
bool CompactedAway(const Assignment& assignment) {
  return assignment.log.compacted;
}

// The very store that the commit rests on has lost all that was announced in this history: its disk
// was not asked to keep it.
Status BeginAgain(Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  const int64_t since = facts.metadata.since;
  if (since < assignment.log.start || !facts.metadata.skipped.empty() ||
      CompactedAway(assignment)) {
    return Incident("the store has lost its effects, up to " + Position(facts.start) +
                    ", and the log does not have all their messages any more");
  }
  assignment.AddNotice("the store has lost its effects, up to " + Position(facts.start) +
                       ": they are handled again from " + Position(since));
  facts.metadata.totals = {};
  facts.metadata.uncertain = 0;
  facts.metadata.optional.on_record.reset();
  static_cast<DeathNotes&>(facts.metadata) = {};
  facts.metadata.map = {};
  facts.metadata.not_done = {};
  facts.start = facts.read_from = facts.known_from = since;
  return {};
}

// At level atomic: the store's own announcement stands for the commit, where it is not ahead of it.
Status FitAtomic(const StoreKnowledge& known, bool continues, Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  // A commit that counts nothing may follow an operator's reset, and then its store has the effects
  // of what came before.
  const bool its_store = continues || facts.metadata.incarnation == 0;
  const bool nothing_done = facts.metadata.totals.sum() == 0 && its_store;
  if (!Used(known) && continues && !nothing_done) {
    return BeginAgain(assignment);
  }
  if (!Used(known) || !continues) {
    if (nothing_done) {
      facts.known_from = facts.start;
      return {};
    }
    return Incident(Used(known)
                        ? "the last commit, at " + Position(facts.start) +
                              ", was made on top of another store than this one, which stands at " +
                              Position(known.offset)
                        : "the group has a commit at " + Position(facts.start) +
                              ", and the store, which should have its effects, is empty");
  }
  auto metadata = DecodeCommit(known.metadata, known.offset);
  if (!metadata) {
    return Incident("what the store says of its last commit cannot be read: " +
                    metadata.error().message);
  }
  if (metadata->since != facts.metadata.since && !nothing_done) {
    return BeginAgain(assignment);  // it has lost what was announced since an operator's reset
  }
  facts.known_from = known.from;
  if (known.offset > facts.start) {
    return {};  // announced, but its commit never landed: what comes again is recognised
  }
  if (known.offset < facts.start && CompactedAway(assignment)) {
    return Incident("the store stands at " + Position(known.offset) + ", behind the commit at " +
                    Position(facts.start) +
                    ", and the topic is compacted: messages between may be gone from its log");
  }
  if (known.offset < facts.start && known.offset < assignment.log.start) {
    return Incident("the store stands at " + Position(known.offset) + ", behind the commit at " +
                    Position(facts.start) + ", and the log begins at " +
                    Position(assignment.log.start) + ": effects between are lost");
  }
  if (known.offset < facts.start) {
    assignment.AddNotice("the store stands at " + Position(known.offset) +
                         ", behind the commit at " + Position(facts.start) +
                         ": what it has lost is handled again");
  }
  metadata->top = std::max(metadata->top, facts.metadata.top);
  facts.start = facts.read_from = known.offset;
  facts.metadata = *std::move(metadata);
  return {};
}

// What an earlier assignment went on without, under `incomplete: run`. Nobody can tell whether all
// of it is older than what the window remembers by now, so it is said, and stops nothing.
void NoteMissing(const StoreKnowledge& known, Assignment& assignment) {
  const int64_t since = assignment.facts.metadata.since;
  if (known.from > since) {
    assignment.AddNotice("the window does not know what lies in [" + std::to_string(since) + ", " +
                         std::to_string(known.from) +
                         "): an earlier assignment went on without it; copies of it run again");
  }
}

// Effects live elsewhere: ids that the store has lost, or never had, come back from the log.
Status FitFromLog(const StoreKnowledge& known, bool continues, const StoreRules& rules,
                  Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  const bool has_all = continues && known.to >= facts.start;
  assignment.missing_ids = !has_all || assignment.store_lost_writes;
  if (has_all) {
    // Else claims of handlers that ran are gone.
    if (!assignment.store_lost_writes && rules.keeps_claims) {
      WindowKnowsSuspects(facts);
    }
    facts.known_from = std::min(known.from, facts.start);
    NoteMissing(known, assignment);
    return {};
  }
  if (Used(known) && !continues) {
    assignment.AddNotice("the last commit was made on top of another store than this one");
  }
  const CatchUpPlan plan = PlanCatchUp(facts, assignment.log, rules.catch_up, rules.reads_park);
  facts.read_from = plan.from;
  facts.known_from = plan.from;
  const bool compacted = CompactedAway(assignment);
  if (continues && known.from < known.to && known.to >= plan.from && !compacted) {
    facts.read_from = known.to;
    facts.known_from = known.from;
    NoteMissing(known, assignment);
    return {};
  }
  if (plan.gap.empty()) {
    return {};
  }
  facts.known_from = compacted ? facts.start : plan.from;
  const std::string gap = "the commit stands at " + Position(facts.start) +
                          ", and the window does not know what lies below " + Position(plan.from) +
                          ": " + plan.gap;
  if (!rules.run_incomplete) {
    return Incident(gap + "; copies of it would run again (incomplete: run allows that)");
  }
  assignment.AddNotice(gap + ", copies of it will run again");
  return {};
}

}  // namespace

Status FitStore(const StoreKnowledge& known, const StoreRules& rules, Assignment& assignment) {
  AssignFacts& facts = assignment.facts;
  facts.incarnation = known.incarnation;
  const int64_t reach = std::max(known.to, known.offset);
  if (reach > assignment.log.end) {
    return Incident("the store knows the partition up to " + Position(reach) +
                    ", and its log ends at " + Position(assignment.log.end) +
                    ": the topic was re-created or truncated");
  }
  if (assignment.history == History::kNone) {
    if (NothingDone(known, assignment)) {
      return {};
    }
    if (Used(known)) {
      return Incident("the group has no commit for this partition, and the store knows it up to " +
                      Position(known.to) +
                      ": set the group's offset, or take the store away to begin anew");
    }
    facts.known_from = facts.start;
    return {};
  }
  if (assignment.history == History::kForeign) {
    return FitReset(known, rules, assignment);
  }
  const bool continues = IsContinuation(known, facts.metadata);
  if (continues) {
    // An older commit may land late. What this store calls finished is no first delivery: it may
    // have forgotten it, which a commit that was acknowledged allowed (rule 23).
    facts.metadata.top = std::max(facts.metadata.top, known.offset);
  }
  if (continues) {
    FollowAnnouncement(known, assignment);
  }
  return rules.level == Level::kAtomic ? FitAtomic(known, continues, assignment)
                                       : FitFromLog(known, continues, rules, assignment);
}

}  // namespace oncemq
