// SPDX-License-Identifier: Apache-2.0
// PollLoop: the one thread that always polls. It moves arrivals from the source into the core, runs
// to handlers, outcomes back, and the core's actions to the broker and the window.
//
// Handlers run on this thread too, as long as they are quick. Where one is not, the keeper demotes
// the batch: the thread goes on with it as any worker would, and a new thread takes the poll loop
// over. So no handler, even one that never returns, keeps the member from its group.
//
// Thread safety: Poll() on one thread at a time; the rest from any.
#pragma once

#include <memory>
#include <vector>

#include "group_events.h"
#include "redrives.h"

namespace oncemq {

class PollLoop {
 public:
  PollLoop(const RuntimeOptions& options, std::unique_ptr<Source> source);
  // Before the first Poll(). They outlive the last one.
  void Connect(const PollParts& parts);

  // The body of the poll thread. Returns at the end, or when another thread has taken over: one
  // that calls Poll() while our batch is demoted.
  void Poll();
  void RequestStop();
  void WaitUntilEnded() { reporter_.WaitUntilEnded(); }
  RunReport Report() const { return reporter_.Report(); }
  // As of Runtime.
  Result<IdQuestions::Found> FindOpen(std::string_view id, milliseconds within) {
    return poll_.questions.Ask(id, within);
  }
  StoreErrors& errors() { return poll_.errors; }

  // After the end, with no other thread left: what every batch used, and the last report.
  const std::vector<JobPtr>& jobs() const { return pool_.jobs(); }
  RunReport Finish(bool handlers_ended);

 private:
  bool Round();
  bool HandleHere(bool& busy);
  bool ReadFrom(PartitionId partition);
  void CatchUpOverdue(PartitionId partition);
  void Act();
  bool TakeAnswers();
  bool SettleReturned();
  void EndBatch(JobPtr job);
  void GiveUpLostMarkers(Job& job);
  void RenewOwedClaims();
  void ReleaseMessages();
  void Sleep();
  void BeginStop();
  bool AtEnd();

  PollState poll_;
  const uint32_t useful_credit_;  // fewer messages are not worth a read
  AssignedPartitions partitions_{poll_};
  WorkerPool pool_{poll_, partitions_};
  RunReporter reporter_{poll_, partitions_, pool_};
  CommitFlight flight_{poll_, partitions_};
  Redrives redrives_{poll_, partitions_};
  GroupEvents group_{poll_, partitions_, flight_, pool_, reporter_};
  size_t first_ = 0;  // where the next round begins to read

  std::vector<Arrival> arrivals_;
  std::vector<Action> actions_;
  std::vector<HistoryThread::Job> answers_;
  std::vector<LeftBehind> left_behind_;

  BootTime round_began_{};
  BootTime slow_batches_at_{};
  BootTime owed_renewed_at_{};
  bool begun_ = false;
  struct Stopping {
    bool closing = false;
    BootTime drain_by{};
    BootTime end_by{};
  };
  Stopping stopping_;
};

}  // namespace oncemq
