// SPDX-License-Identifier: Apache-2.0
// GroupEvents: begins the partitions given by the group, and drains those it takes. Each is given
// back once the core is through with it. With a commit in doubt the member leaves the group.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "assigned_partitions.h"
#include "commit_flight.h"
#include "run_reporter.h"
#include "worker_pool.h"

namespace oncemq {

class GroupEvents final : public SourceEvents {
 public:
  GroupEvents(PollState& poll, AssignedPartitions& partitions, CommitFlight& flight,
              WorkerPool& pool, RunReporter& reporter)
      : poll_(poll), partitions_(partitions), flight_(flight), pool_(pool), reporter_(reporter) {}

  void GiveBack(const GiveBackAction& action);
  void StoreClosed(PartitionId partition);
  // Partitions are still to be given back.
  bool StoresClose() const { return !closing_.empty(); }
  void AssignLostWritesAnew();
  // Stores without use, or after their time.
  void CloseStores();
  void RejoinWhenDrained();
  void BeginStop() {
    stopping_ = true;
    DrainAll();
  }
  bool stopping() const { return stopping_; }
  bool disorder() const { return disorder_; }

  void Joined() override { poll_.joined = true; }
  void Assigned(PartitionId partition, const AssignFacts& facts) override;
  void Revoked(PartitionId partition) override;
  void Lost(PartitionId partition) override;
  void CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply) override {
    flight_.Answered(partition, number, reply);
  }
  void Incident(const PartitionName& partition, int64_t offset, const std::string& why) override {
    reporter_.NoteStop(partition, offset, why);
  }
  std::optional<Status> Prepare(PartitionId partition, const PartitionName& name,
                                Assignment& assignment) override;
  bool CatchUpGap(PartitionId partition, int64_t from, int64_t to) override;
  bool Finished(PartitionId partition) const override;
  void Failed(const std::string& why) override;

 private:
  void LogSuspects(PartitionId partition, const AssignFacts& facts) const;
  void Drain(PartitionId partition);
  void DrainAll();
  void LetGo(PartitionId partition);
  BootTime HandlersMayActUntil() const;

  PollState& poll_;
  AssignedPartitions& partitions_;
  CommitFlight& flight_;
  WorkerPool& pool_;
  RunReporter& reporter_;
  // With the store at the history thread. Given back when it is closed, or else at this time.
  std::map<PartitionId, BootTime> closing_;
  bool stopping_ = false;
  bool rejoining_ = false;
  bool disorder_ = false;  // at the end a partition was given back with work open, or lost
};

}  // namespace oncemq
