// SPDX-License-Identifier: Apache-2.0
// AssignedPartitions: the part of each partition's state that is not in the core. It has ownership,
// commit, the last answer of the store, and the ids missing there.
//
//   partitions.Begin(id, facts);       // an assignment begins
//   partitions.Answered(id, failure);  // after each call of window or journal
//   partitions.End(id);                // the assignment is over
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commit_flight.h"
#include "lag_watch.h"
#include "poll_state.h"

namespace oncemq {

// The window lacks ids of the partition, so their copies may run in other ones (rule 31).
struct MissingIds {
  BootTime since{};
  int64_t to = 0;  // it has them all once the frontier is here
  std::optional<BootTime> until;
  // All accepted gaps of the catch-up lie in [gap_from, gap_to). Equal without a gap.
  int64_t gap_from = 0;
  int64_t gap_to = 0;
};

struct AssignedPartition {
  bool held = false;
  bool seen = false;
  bool lost_writes = false;  // its store has some, and it was not assigned since
  uint32_t raising = 0;      // epoch of the ownership at the history thread; 0 without one
  uint32_t assignments = 0;  // so far
  uint32_t source = 0;       // coordinates for the window
  int32_t partition = 0;
  OwnerEpoch local_owner_epoch = 0;       // issued here where there is no window
  std::string unowned;                    // why no ownership could be raised
  std::string failed;                     // why the last call of window or journal failed
  std::string stopped;                    // why nothing more of it is handled in this assignment
  std::optional<MissingIds> missing_ids;  // the last one
  BootTime committed_for{};               // Core::SafeUntil() of the last commit in `lags`
  LagWatch lags;
  CommitFlight::State flight;
};

class AssignedPartitions {
 public:
  explicit AssignedPartitions(PollState& poll) : poll_(poll) {}

  PartitionId size() const { return static_cast<PartitionId>(partitions_.size()); }
  AssignedPartition& operator[](PartitionId id) { return partitions_[id]; }
  const AssignedPartition& operator[](PartitionId id) const { return partitions_[id]; }
  AssignedPartition& At(PartitionId id);  // makes it where it is new
  bool Owns(PartitionId id) const { return id < partitions_.size() && partitions_[id].held; }
  // Whether the assignment with the core's number `epoch` goes on.
  bool Runs(PartitionId id, uint32_t epoch) const {
    return Owns(id) && poll_.core.Status(id).epoch == epoch;
  }
  size_t held() const { return held_; }

  void Begin(PartitionId id, const AssignFacts& facts);
  void End(PartitionId id);

  void Raise(const RaiseOwnerEpochAction& action);
  // An answer of the history thread.
  void Raised(const HistoryThread::RaiseOwnerEpoch& job);

  void Answered(PartitionId id, const std::optional<Error>& failure);
  // Partitions with lost writes in their store, since the last call.
  std::vector<PartitionId> TakeLostWrites() { return std::exchange(lost_writes_, {}); }
  void KeepLostWrites(PartitionId id) { lost_writes_.push_back(id); }

  // At the level opaque, where other partitions ask the same store for the same ids.
  void BeginUnprotected(PartitionId id, const PartitionName& name, const Assignment& assignment);
  void EndUnprotected();
  // The catch-up goes on without these offsets.
  void NoteGap(PartitionId id, int64_t from, int64_t to);

 private:
  PollState& poll_;
  std::vector<AssignedPartition> partitions_;
  size_t held_ = 0;
  std::vector<PartitionId> lost_writes_;
};

}  // namespace oncemq
