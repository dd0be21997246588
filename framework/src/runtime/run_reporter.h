// SPDX-License-Identifier: Apache-2.0
// RunReporter: tells how far each partition is, why it waits or is stopped, which message holds it
// up, and when the batch has ended.
//
// Thread safety: Report() and WaitUntilEnded() on any thread; the rest belongs to the poll thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assigned_partitions.h"
#include "holdups.h"
#include "oncemq/base/mutex.h"
#include "worker_pool.h"

namespace oncemq {

class RunReporter {
 public:
  RunReporter(PollState& poll, AssignedPartitions& partitions, const WorkerPool& pool)
      : poll_(poll), partitions_(partitions), pool_(pool) {}

  void Begin();
  // Before `message`, its cause, is released.
  void NoteStop(const PartitionName& name, int64_t offset, const std::string& why,
                std::optional<OpenMessage> message = {});
  void NoteFailure(const std::string& why);
  // While the loop is busy, now and then.
  void Publish(bool busy);
  RunReport Make();
  std::vector<FoundMessage> FindOpen(const std::string& id);
  void Keep(RunReport report, BootTime at);
  void End();

  RunReport Report() const;
  void WaitUntilEnded();

 private:
  struct Wait {
    Holder holder = Holder::kNone;
    std::string why = {};
  };
  Wait WaitsFor(PartitionId partition, const PartitionStatus& status) const;
  Wait WhatHinders(PartitionId partition, const PartitionStatus& status) const;
  void ReportPartitions(RunReport& report);
  void NoteHoldups(RunReport& report);
  void Measure(RunReport& report);
  LagTrend JudgeLag(PartitionId id, const PartitionReport& one);
  void TakeKeys(std::span<OpenMessage> messages);

  PollState& poll_;
  AssignedPartitions& partitions_;
  const WorkerPool& pool_;
  Holdups holdups_;
  std::unique_ptr<MessageView> view_;  // made for the first key
  std::vector<PartitionId> reported_;  // in the order of the last report
  BootTime published_at_{};
  std::string error_;
  std::map<std::pair<std::string, int32_t>, std::string> stops_;  // the last of each partition

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  RunReport report_ GUARDED_BY(mutex_);
  const Clock* clock_ GUARDED_BY(mutex_) = nullptr;  // from Begin() on
  BootTime reported_at_ GUARDED_BY(mutex_){};
};

}  // namespace oncemq
