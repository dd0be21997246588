// SPDX-License-Identifier: Apache-2.0
// One partition's way through an assignment: raise the owner epoch, confirm by an acknowledged
// commit, work, commit, give back.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "caution.h"
#include "log_times.h"
#include "oncemq/framework/core.h"
#include "oncemq/ordering/lanes.h"
#include "reserve.h"

namespace oncemq {

//   event                        | from                | to
//   Assign                       | any                 | kRaising
//   OwnerEpochRaised             | kRaising            | kConfirming
//   commit acknowledged          | kConfirming         | kActive
//   commit fenced, OwnershipLost | kConfirming, kActive| kRaising (rule 9)
//   commit refused for good      | any but kDraining   | kStopped
//   Revoke: the group takes it   | any                 | kDraining, until the last commit is
//                                |                     |   answered; kNone at once without work
//   Lost: the group has taken it | any                 | kNone, without a commit
//
// Thread safety: none; lives inside the core.
class PartitionState {
 public:
  PartitionState(PartitionId id, const CoreOptions& options);

  using Actions = std::vector<Action>;
  void Assign(const AssignFacts& facts, BootTime now, Actions& actions);
  void OwnerEpochRaised(uint32_t epoch, const Result<OwnerEpoch>& owner_epoch, BootTime now,
                        Actions& actions);
  // The window refused the ownership that raise number `raise` gave us, although we are assigned:
  // start over, unless we have done so since (rule 9).
  void OwnershipLost(uint16_t raise, BootTime now, Actions& actions);
  void CommitAnswered(uint64_t number, CommitReply reply, BootTime now, Actions& actions);
  void Revoke(BootTime deadline, BootTime now, Actions& actions);
  void Lost();
  // A policy refuses to go on behind `offset`. What is finished is still committed.
  // False: it had been halted before.
  bool Halt(int64_t offset, std::string why, Actions& actions);
  void BatchEnded(BootTime now, Actions& actions);  // a running delivery of this epoch was settled
  void Tick(BootTime now, Actions& actions);
  std::optional<BootTime> NextTimer() const;

  bool MayAdmit() const { return phase_ == PartitionPhase::kActive && !halted_; }
  // More finished work than a commit can tell of, where nothing else tells of it.
  bool MapFull() const { return map_cut_ && options_.relies_on_map; }
  bool MayRun(BootTime now) const { return MayAdmit() && now < safe_until_; }
  // Whether a commit that was acknowledged reserves the offset (rule 11).
  bool Reserves(int64_t offset) const { return !caution.bounded() || reserve_.Covers(offset); }
  void Taken(int64_t offset) {
    if (caution.bounded()) {
      reserve_.Take(offset);
    }
  }
  void KeptBack(int64_t offset) {
    reserve_.KeepBack(offset);
    dirty_ = true;
  }
  // A message waits for it, or will soon.
  void CommitIfWanted(BootTime now, Actions& actions);
  // An owner before us may have begun it, and the window does not know. A message without an id has
  // no marker in any window.
  bool Suspects(int64_t offset, bool has_id) const {
    const bool unknown = offset < reported_to_ || (options_.suspects && !has_id);
    return unknown && facts_.suspects.Contains(offset);
  }
  bool Made(const CommitMetadata& commit) const {
    return confirmed_owner_epoch_ != 0 && commit.owner_epoch == confirmed_owner_epoch_;
  }
  // What is not with a worker goes back: nothing of it will run under this assignment.
  bool GivesUpQueued() const {
    return phase_ == PartitionPhase::kDraining || phase_ == PartitionPhase::kStopped || halted_;
  }
  bool Current(uint32_t epoch) const { return phase_ != PartitionPhase::kNone && epoch == epoch_; }

  // Once the assignment is over, the end proves nothing.
  void ReadTo(int64_t end) { dirty_ |= MayAdmit() && frontier_.PassHole(end); }
  void Finish(uint32_t arrival, Verdict verdict, bool uncertain) {
    frontier_.Finish(arrival, verdict);
    facts_.metadata.uncertain += uncertain ? 1 : 0;
    dirty_ = true;
  }

  PartitionPhase phase() const { return phase_; }
  uint32_t epoch() const { return epoch_; }
  OwnerEpoch owner_epoch() const { return owner_epoch_; }
  uint16_t raise() const { return raise_; }
  BootTime safe_until() const { return safe_until_; }
  const AssignFacts& facts() const { return facts_; }
  // One above the last offset that handlers are to be told of; -1: the frontier has passed it.
  int64_t suspect_to() const {
    return phase_ != PartitionPhase::kNone && frontier_.offset() < reported_to_ ? reported_to_ : -1;
  }
  Frontier& frontier() { return frontier_; }
  const Frontier& frontier() const { return frontier_; }
  int64_t committed() const { return committed_; }

  // Filled by the core at the end of a drain: what still runs or has no marker yet (rule 21).
  std::function<std::vector<int64_t>()> running_offsets;
  // Handed back under the present assignment, though a handler may have had its effect.
  std::vector<int64_t> uncertain_offsets;

  uint32_t unfinished = 0;  // admitted in any epoch and not settled for good
  uint32_t running = 0;     // of the current epoch: with a worker, or handled without a marker yet
  LaneList held;            // lanes whose head waits until this partition may run
  DeliveryCounts counts;
  LogTimes log_times;  // of what was admitted under the present assignment
  Caution caution;

 private:
  void RaiseOwnership(Actions& actions) const;
  void SendCommit(bool last, BootTime now, Actions& actions);
  void Fenced(uint16_t raise);
  int64_t NameUnfinished();
  std::optional<FrontierSnapshot> SnapshotThatFits(int64_t begun_to);
  void CallUnclean(int64_t bound);
  void StopUncommitted(int64_t offset, Actions& actions);
  void EndOfDrain(BootTime now, Actions& actions);
  void GiveBack(bool leave_group, Actions& actions);
  void End();

  struct InFlight {
    uint64_t number;
    int64_t offset;
    BootTime sent;
    bool last;       // of this assignment
    bool confirms;   // sent after the ownership was raised: its acknowledgement opens admission
    uint16_t raise;  // of the ownership that it names
    int64_t reserved;
    DeathNotes notes;
  };

  const PartitionId id_;
  const CoreOptions& options_;
  AssignFacts facts_;
  Frontier frontier_;
  PartitionPhase phase_ = PartitionPhase::kNone;
  uint32_t epoch_ = 0;
  Reserve reserve_;
  int64_t reported_to_ = 0;  // no suspect that the handler is to be told of lies at or above it
  OwnerEpoch owner_epoch_ = 0;
  OwnerEpoch confirmed_owner_epoch_ = 0;  // the last one that an acknowledged commit has confirmed
  uint16_t raise_ = 0;                    // counts what owner_epoch_ has been
  BootTime safe_until_{};
  BootTime retry_at_{};             // of a raise or a confirmation that was not answered
  BootTime last_commit_{};          // when the last one was sent
  BootTime deadline_{};             // of the drain
  std::optional<InFlight> commit_;  // at most one
  uint64_t next_number_ = 1;
  int64_t committed_ = -1;  // never falls within an assignment
  bool dirty_ = false;
  bool map_cut_ = false;  // of the last commit
  bool halted_ = false;
};

}  // namespace oncemq
