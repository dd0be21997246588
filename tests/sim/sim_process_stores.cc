// SPDX-License-Identifier: Apache-2.0
// What a process does about the stores of its partitions: the calls of the product's poll loop. An
// announcement is answered at once here; there it is made on another thread, so that a partition
// may go and come back in between.
#include <algorithm>

#include "sim_process.h"

namespace oncemq::sim {

// False: the partition does not start, now or until somebody has looked after it.
bool SimProcess::Prepare(int32_t partition, Assignment& assignment) {
  assignment.cluster = "c";
  const AssignFacts before = assignment.facts;
  const Status ready =
      *stores_->Prepare(CoreId(partition), {"t", partition}, assignment, clock_.Boot());
  if (ready) {
    NoteFit(before, assignment);
    return true;
  }
  if (ready.error().code == Code::kUnavailable) {
    return false;  // asked again with the next answer about the commit
  }
  const std::string& why = ready.error().message;
  const auto says = [&](const char* what) { return why.find(what) != std::string::npos; };
  Sometimes& sometimes = world_.sometimes;
  sometimes.Count(Situation::kStoreNotTheCommits, says("on top of another store"));
  sometimes.Count(Situation::kStoreEmpty, says("is empty"));
  sometimes.Count(Situation::kCommitGone, says("has no commit"));
  sometimes.Count(Situation::kForeignAhead, says("that is not ours"));
  sometimes.Count(Situation::kIncomplete, says("incomplete: run allows that"));
  sometimes.Count(Situation::kEffectsGone, says("messages between may be gone") ||
                                               says("effects between are lost") ||
                                               says("does not have all their messages"));
  sometimes.Count(Situation::kStoreOfOthers, says("the directory belongs to"));
  At(partition).number++;  // nobody asks again
  Refused(partition, before.start);
  return false;
}

// Until a person has looked after it.
void SimProcess::Refused(int32_t partition, int64_t at) {
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kRefused,
                         .partition = partition,
                         .offset = at});
  world_.refused(partition);
}

void SimProcess::NoteFit(const AssignFacts& before, const Assignment& after) {
  Sometimes& sometimes = world_.sometimes;
  const AssignFacts& facts = after.facts;
  sometimes.Count(Situation::kStoreRolledBack, facts.start < before.start);
  sometimes.Count(Situation::kAnnouncedNotCommitted, facts.metadata.top > facts.start);
  sometimes.Count(Situation::kStoreCaughtUp, facts.read_from < facts.start);
  sometimes.Count(Situation::kWentOnIncomplete,
                  after.notice.find("copies of it will run again") != std::string::npos);
}

// Behind everything that the commit calls finished, in the same log, and as durable (rule 27).
// False: it must not be sent.
bool SimProcess::Announced(const CommitAction& action) {
  const auto partition = static_cast<int32_t>(action.partition);
  if (!At(partition).in_core || core_.Status(action.partition).epoch != action.epoch) {
    return false;  // lost in between
  }
  const int64_t known_to =
      catch_up_ ? catch_up_->KnownTo(action.partition, action.offset) : action.offset;
  const auto announcement = CommitFlight::Plan(*stores_, action, known_to);
  const auto announce = [&] { return direct_.Announce({&*announcement, 1}); };
  if (!announcement || store_errors_.Window(StoreCall::kAnnounce, 1, announce)) {
    return true;
  }
  core_.CommitAnswered(action.partition, action.number, CommitReply::kNotSent, clock_.Boot());
  CarryOut();
  WakeIn(1);
  return false;
}

bool SimProcess::InUse(int32_t partition) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& worker) { return worker->Holds(partition); });
}

// Before the group hears of it.
void SimProcess::CloseStore(int32_t partition) {
  const bool runs_on = InUse(partition) && LevelOf(world_.config) == Level::kOpaque;
  if (runs_on) {
    const Micros until = world_.loop.now() + world_.config.handler_timeout;
    stores_->CloseLater(CoreId(partition), clock_.ToBoot(until));
    WakeIn(world_.config.handler_timeout);
  } else {
    stores_->Close(CoreId(partition));
  }
}

void SimProcess::CloseStores() {
  if (stores_) {
    stores_->CloseDue(clock_.Boot(), [this](PartitionId partition) {
      return InUse(static_cast<int32_t>(partition));
    });
  }
}

}  // namespace oncemq::sim
