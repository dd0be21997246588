// SPDX-License-Identifier: Apache-2.0
// WorkerPool: the batches on their way from the core to a handler and back, and the workers for
// them.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <optional>
#include <vector>

#include "assigned_partitions.h"
#include "job.h"

namespace oncemq {

class WorkerPool {
 public:
  WorkerPool(PollState& poll, const AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  // 0: handlers run on the poll thread.
  uint32_t workers() const { return workers_; }
  void Employ(uint32_t workers);
  // The previous polling thread may still drive a batch.
  void TakeOver();

  // On this thread. The batch is to be settled, or nullptr if there is none. nullopt: another
  // thread polls now, and nothing of the loop may be touched.
  std::optional<JobPtr> RunHere();
  // To the workers. True if there was a batch.
  bool HandOver();
  // Runs back from other threads, to be settled. Valid until the next call.
  std::vector<JobPtr>& TakeBack();
  // The batch is settled.
  void Idle(JobPtr job) {
    job->calls.MoveTo(poll_.times.handler);
    idle_.push_back(std::move(job));
  }

  // Whether another thread drives a batch of the partition.
  bool InUse(PartitionId partition) const;
  // Where the batch of an open message stands, if it is the lowest of its batch or the called one.
  // kNone if no other thread has such a batch.
  Holder WhereIs(PartitionId partition, int64_t offset) const;
  void StopBatchesOf(PartitionId partition, BootTime stop_at);
  void CheckSlowBatches();

  // All jobs, after the end.
  const std::vector<JobPtr>& jobs() const { return jobs_; }
  int64_t stood_in() const { return stood_in_; }

 private:
  JobPtr Take(uint32_t most, bool here);
  uint32_t FittingBatch() const;
  void StandIn(const JobPtr& job);

  PollState& poll_;
  const AssignedPartitions& partitions_;
  std::vector<JobPtr> jobs_;
  std::vector<JobPtr> idle_;
  std::vector<JobPtr> returned_;
  std::vector<JobPtr> out_;  // with other threads
  JobPtr here_;              // with the poll thread
  uint32_t workers_ = 0;
  uint32_t with_workers_ = 0;           // of out_, on or before a worker
  int64_t stood_in_ = 0;                // hung workers with a replacement, in total
  double cost_ = 100;                   // microseconds of one message with its handler, lately
  std::optional<BootTime> demoted_at_;  // the last time
};

}  // namespace oncemq
