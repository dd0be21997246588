// SPDX-License-Identifier: Apache-2.0
// SimProcess: one incarnation of a consumer. A shell around the real Core and BatchMachine that
// does what the runtime does: poll, admit within the credit, hand runs to workers, carry actions
// out, answer the group. Each piece of work is one event, so that it may die, sleep or be cut off
// between any two.
//
// Thread safety: none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catch_up.h"
#include "commit_flight.h"
#include "direct_window.h"
#include "oncemq/framework/core.h"
#include "process_clock.h"
#include "sim_member.h"
#include "sim_redrives.h"
#include "sim_worker.h"
#include "surroundings.h"
#include "window_stores.h"

namespace oncemq::sim {

// Messages admitted at once.
inline constexpr size_t kMostAdmitted = 16;

// A message that the core holds. Its bytes are its own, so that a view kept too long points to
// freed memory.
struct SimMessage {
  const LogRecord* record = nullptr;
  uint32_t delivery = kNone;  // from its admission on
  std::string id;
  OwnerEpoch redriven = 0;  // by that owner; 0: it is not
};

class SimProcess final : public MemberShell {
 public:
  SimProcess(ActorId actor, Surroundings& world, const ProcessClock& clock,
             std::shared_ptr<SimWindow> window);
  ~SimProcess() override;

  void Start();
  void Close();
  void Rewind(int32_t partition, int64_t back);

  // Nothing of the partition is held, or a policy has stopped it; what was finished is committed.
  bool Quiet(int32_t partition) const;
  bool Assigned(int32_t partition) const {
    return partitions_[static_cast<size_t>(partition)].in_core;
  }
  bool Stopped(int32_t partition) const {
    return partitions_[static_cast<size_t>(partition)].stopped;
  }
  bool Draining() const;
  // What it holds and what it counted, for the last time.
  void NoteEnd();

  // --- for its workers
  void Settled(SimWorker& worker);
  void Settle(std::span<const uint32_t> deliveries, std::span<Settlement> settlements);
  bool Stale(const DeliveryFacts& delivery) const;
  SimRedrives& redrives() { return redrives_; }

 private:
  struct Partition {
    bool assigned = false;  // by the group; the core may not know it yet
    bool in_core = false;
    bool in_doubt = false;  // a commit may still land: not given back, but left with the group
    bool stopped = false;   // by a policy
    uint64_t number = 0;    // of the assignment, to recognise answers that come too late
    uint32_t term = 0;
    int64_t start = 0;
    int64_t position = 0;  // next offset to admit
  };

  void OnAssigned(int32_t partition, uint32_t term) override;
  void OnRevoke(const std::vector<int32_t>& partitions) override;
  void OnLost(const std::vector<int32_t>& partitions) override;
  void OnLeft() override;

  void QueryCommitted(int32_t partition, uint64_t number);
  void Assign(int32_t partition, const CommittedPosition& committed, const LogBounds& bounds);
  bool Prepare(int32_t partition, Assignment& assignment);
  void NoteFit(const AssignFacts& before, const Assignment& after);
  bool Announced(const CommitAction& action);
  bool InUse(int32_t partition) const;
  void CloseStore(int32_t partition);
  void CloseStores();
  void Lose(int32_t partition);
  void Drain(int32_t partition);
  void BeginLeaving();
  bool NothingHeld() const;
  void StopBatchesOf(int32_t partition);

  void Poll();
  void WakeIn(Micros delay);
  void PlanNextPoll();
  struct Load {
    int64_t messages = 0;
    int64_t bytes = 0;
  };
  void AdmitFrom(int32_t partition);
  Load AllThatWaits() const;
  void NoteBounds(int32_t partition, const Load& waited, int64_t waited_here);
  bool Collect(int32_t partition, size_t most);
  void PassHole(int32_t partition, const PartitionStatus& status, bool behind);
  const LogRecord* NextIn(int32_t partition) const;
  bool FollowLogStart(int32_t partition);
  bool CatchUpOverdue(int32_t partition);
  void NotRead(int32_t partition, int64_t from, int64_t to);
  void StopIncomplete(int32_t partition);
  void Refused(int32_t partition, int64_t at);
  Arrival Read(const LogRecord& record);
  void AdmitRedriven(int32_t partition);
  void NoteAdmitted(SimMessage& message, int32_t partition, bool dropped);
  void EndCatchUp(int32_t partition);
  void DropCaughtUp();
  void TakeBatches();
  void RenewOwed();
  void CarryOut();
  void Do(const RaiseOwnerEpochAction& action);
  void Do(const CommitAction& action);
  void Do(const GiveBackAction& action);
  void Do(const StopAction& action);
  void SendCommit(const CommitCall& call, uint64_t number, bool again);
  void Answer(const CommitCall& call, uint64_t number, CommitReply reply);
  void ReleaseMessages();
  void Note(Op op, int32_t partition, int64_t value = 0, bool flag = false);
  Partition& At(int32_t p) { return partitions_[static_cast<size_t>(p)]; }
  static PartitionId CoreId(int32_t p) { return static_cast<PartitionId>(p); }

  const ActorId actor_;
  Surroundings& world_;
  const ProcessClock& clock_;
  const std::shared_ptr<SimWindow> window_;
  DirectWindow direct_;
  StoreErrors store_errors_;
  std::optional<CatchUp> catch_up_;     // where the window may not know what the commit does
  std::optional<WindowStores> stores_;  // where each partition has one on disk
  Rng rng_;
  Core core_;
  SimMember member_;
  SimRedrives redrives_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<Partition> partitions_;
  std::map<void*, std::unique_ptr<SimMessage>> messages_;  // read, and not released
  std::vector<Action> actions_;
  std::vector<void*> released_;
  std::vector<void*> caught_up_;  // released by the catch-up
  std::vector<Arrival> arrivals_;
  MessageBatch batch_;
  Micros poll_at_ = 0;  // of the next poll that is planned; 0: none
  uint64_t poll_number_ = 0;
  Micros owed_renewed_at_ = 0;
  bool leaving_ = false;     // drains everything, then leaves and joins again
  int urgent_ = 0;           // polls in a row after which the core wanted another one at once
  Micros requested_at_ = 0;  // when the core asked for the action that is being carried out
};

}  // namespace oncemq::sim
