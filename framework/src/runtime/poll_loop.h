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

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assigned_partitions.h"
#include "oncemq/framework/runtime.h"
#include "run_reporter.h"
#include "worker_pool.h"

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
  void WaitUntilEnded() { reporter_.WaitUntilEnded(); }
  RunReport Report() const { return reporter_.Report(); }
  StoreErrors& errors() { return poll_.errors; }

  // After the end, with no other thread left: what every run used, and the last report.
  const std::vector<JobPtr>& jobs() const { return pool_.jobs(); }
  RunReport Finish(bool handlers_ended);

 private:
  // poll_loop.cc: one round
  bool Round();
  bool HandleHere(bool& busy);
  bool ReadFrom(PartitionId partition);
  void CopyLeftBehind();
  bool SettleReturned();
  void EndRun(JobPtr job);
  void GiveUpLostMarkers(Job& job) const;
  void AssignRegressedAnew();
  void RenewOwedClaims();
  void ReleaseMessages();
  void Sleep();

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
  void CloseStores();
  bool AtEnd();
  void BeginStop();

  PollState poll_;
  const uint32_t useful_credit_;  // fewer messages are not worth a read
  AssignedPartitions partitions_{poll_};
  WorkerPool pool_{poll_, partitions_};
  RunReporter reporter_{poll_, partitions_, pool_};
  size_t first_ = 0;  // where the next round begins to read

  std::vector<Arrival> arrivals_;
  std::vector<Action> actions_;
  std::vector<CommitAction> commits_;
  std::vector<WindowDesk::Job> answers_;
  std::vector<LeftBehind> left_behind_;

  BootTime round_began_{};
  BootTime slow_runs_at_{};
  BootTime owed_renewed_at_{};
  bool begun_ = false;
  bool stopping_ = false;
  bool rejoining_ = false;
  bool closing_ = false;
  bool disorder_ = false;  // at the end a partition was given back with work open, or lost
  BootTime drain_by_{};
  BootTime end_by_{};
};

}  // namespace oncemq
