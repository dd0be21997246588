// SPDX-License-Identifier: Apache-2.0
// PollLoop: the one thread that always polls. It moves arrivals from the source into the core, runs
// to handlers, outcomes back, and the core's actions to the broker and the window.
//
// Handlers run on this thread too, as long as they are quick. Where one is not, the keeper demotes
// the run: the thread goes on with it as any worker would, and a new thread takes the poll loop
// over. So no handler, even one that never returns, keeps the member from its group.
//
// Thread safety: Poll() on one thread at a time; the rest from any.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assigned_partitions.h"
#include "crew.h"
#include "holdups.h"
#include "journal.h"
#include "keeper.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

class PollLoop final : private SourceEvents {
 public:
  PollLoop(const RuntimeOptions& options, std::unique_ptr<Source> source);
  // Before the first Poll(). They outlive the last one.
  void Connect(const PollParts& parts);

  // The body of the poll thread. Returns at the end, or when another thread has taken over: one
  // that calls Poll() while our run is demoted.
  void Poll();
  void AskToStop();
  void WaitUntilEnded();
  RunReport Report() const;
  StoreErrors& errors() { return poll_.errors; }

  // After the end, with no other thread left: what every run used, and the last report.
  const std::vector<JobPtr>& jobs() const { return all_jobs_; }
  RunReport Finish(bool handlers_ended);

 private:
  enum class Ran : uint8_t { kNothing, kSomething, kDemoted };

  // poll_loop.cc: one round. poll_report.cc: what is told of the partitions
  bool Round();
  bool HandleHere(bool& busy);
  Ran RunOnce();
  bool ReadFrom(PartitionId partition);
  void CopyLeftBehind();
  bool HandOverRuns();
  uint32_t FittingRun() const;
  void Employ(uint32_t workers);
  void StandIn(const JobPtr& job);
  bool SettleReturned();
  void EndRun(JobPtr job);
  void GiveUpLostMarkers(Job& job) const;
  void AssignRegressedAnew();
  void RenewOwedClaims();
  void ReleaseMessages();
  void Sleep();
  JobPtr TakeJob();
  void TakeOver();
  void Publish();
  RunReport MakeReport(std::vector<PartitionId>* told = nullptr) const;
  void TellPartitions(RunReport& report, std::vector<PartitionId>& told) const;
  void NoteHoldups(RunReport& report);
  std::string WaitsFor(PartitionId partition, const PartitionStatus& status) const;
  std::string WhatHinders(PartitionId partition, const PartitionStatus& status) const;

  // poll_actions.cc: what core and source say
  void Act();
  void Do(RaiseOwnAction& action) { partitions_.Raise(action); }
  void Do(CommitAction& action);
  void Do(GiveBackAction& action);
  void Do(StopAction& action);
  void Assigned(PartitionId partition, const AssignFacts& facts) override;
  void Revoked(PartitionId partition) override;
  void Lost(PartitionId partition) override;
  void CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply) override;
  void Incident(const PartitionName& partition, int64_t offset, const std::string& why) override;
  std::optional<Status> Prepare(PartitionId partition, const PartitionName& name,
                                Assignment& assignment) override;
  bool CatchUpGap(PartitionId partition, int64_t from, int64_t to) override;
  bool Finished(PartitionId partition) const override;
  void Failed(const std::string& why) override;
  void LetGo(PartitionId partition);
  BootTime HandlersMayActUntil() const;
  void TellSuspects(PartitionId partition, const AssignFacts& facts) const;
  void Drain(PartitionId partition);
  void DrainAll();
  void CatchUpOverdue(PartitionId partition);
  bool Unsend(PartitionId partition);
  void CloseStore(PartitionId partition, bool runs_on);
  void SendCommits();
  // Answers of the desk.
  bool TakeAnswers();
  void Answer(WindowDesk::RaiseOwn& job) { partitions_.Raised(job); }
  void Answer(WindowDesk::Open& job);
  void Answer(WindowDesk::Announce& job);
  void Answer(WindowDesk::Committed&) {}
  void Answer(WindowDesk::Restore& job);
  bool InUse(PartitionId partition) const;
  void StopRunsOf(PartitionId partition, BootTime stop_at);
  void LookAfterSlowRuns();
  bool AtEnd();
  void BeginStop();
  void NoteStop(const PartitionName& partition, int64_t offset, const std::string& why);
  void MarkStopped(const PartitionName& partition, const std::string& why);

  PollState poll_;
  const uint32_t useful_credit_;  // fewer messages are not worth a read
  AssignedPartitions partitions_{poll_};
  Holdups holdups_;
  std::vector<PartitionId> told_;  // those of the last report, in its order
  size_t first_ = 0;               // where the next round begins to read

  std::vector<JobPtr> all_jobs_;
  std::vector<JobPtr> idle_jobs_;
  std::vector<JobPtr> returned_;
  std::vector<JobPtr> out_;             // runs that another thread drives
  JobPtr here_;                         // the run that the poll thread drives
  uint32_t workers_ = 0;                // 0: handlers run on the poll thread
  uint32_t with_workers_ = 0;           // runs of out_ that a worker drives or will drive
  int64_t stood_in_ = 0;                // workers that hung and were replaced, in total
  double cost_ = 100;                   // microseconds of one message with its handler, lately
  std::optional<BootTime> demoted_at_;  // the last time

  std::vector<Arrival> arrivals_;
  std::vector<Action> actions_;
  std::vector<CommitAction> commits_;
  std::vector<WindowDesk::Job> answers_;
  std::vector<LeftBehind> left_behind_;

  BootTime round_began_{};
  BootTime slow_runs_at_{};
  BootTime owed_renewed_at_{};
  BootTime published_at_{};
  bool begun_ = false;
  bool stopping_ = false;
  bool rejoining_ = false;
  bool closing_ = false;
  bool disorder_ = false;  // at the end a partition was given back with work open, or lost
  BootTime drain_by_{};
  BootTime end_by_{};
  std::string error_;
  std::map<std::pair<std::string, int32_t>, std::string> stops_;  // the last of each partition

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  RunReport report_ GUARDED_BY(mutex_);
  const Clock* report_clock_ GUARDED_BY(mutex_) = nullptr;  // from Connect() on
  BootTime reported_at_ GUARDED_BY(mutex_){};
};

}  // namespace oncemq
