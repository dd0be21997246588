// SPDX-License-Identifier: Apache-2.0
// WorkerPool: the runs on their way from the core to a handler and back, and how many workers there
// are for them.
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
  enum class Ran : uint8_t { kNothing, kSomething, kDemoted };

  WorkerPool(PollState& poll, const AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  // 0: handlers run on the poll thread.
  uint32_t workers() const { return workers_; }
  void Employ(uint32_t workers);
  // The thread that polled before us may still drive a run.
  void TakeOver();

  // On this thread. kSomething: `ended` is to be settled. kDemoted: another thread polls now, and
  // nothing of the loop may be touched.
  Ran RunHere(JobPtr& ended);
  // To the workers; true if there was something.
  bool HandOver();
  // Runs that another thread drove, to be settled. Valid until the next call.
  std::vector<JobPtr>& TakeBack();
  // The run is settled.
  void Idle(JobPtr job) { idle_.push_back(std::move(job)); }

  // Runs with messages of the partition that another thread drives.
  bool InUse(PartitionId partition) const;
  void StopRunsOf(PartitionId partition, BootTime stop_at);
  void LookAfterSlowRuns();

  // What every run used, after the end.
  const std::vector<JobPtr>& jobs() const { return jobs_; }
  int64_t stood_in() const { return stood_in_; }

 private:
  JobPtr Take(uint32_t most, bool here);
  uint32_t FittingRun() const;
  void StandIn(const JobPtr& job);

  PollState& poll_;
  const AssignedPartitions& partitions_;
  std::vector<JobPtr> jobs_;
  std::vector<JobPtr> idle_;
  std::vector<JobPtr> returned_;
  std::vector<JobPtr> out_;             // runs that another thread drives
  JobPtr here_;                         // the run that the poll thread drives
  uint32_t workers_ = 0;                // 0: handlers run on the poll thread
  uint32_t with_workers_ = 0;           // runs of out_ that a worker drives or will drive
  int64_t stood_in_ = 0;                // workers that hung and were replaced, in total
  double cost_ = 100;                   // microseconds of one message with its handler, lately
  std::optional<BootTime> demoted_at_;  // the last time
};

}  // namespace oncemq
