// SPDX-License-Identifier: Apache-2.0
// SimWorker: one worker of a process with its BatchMachine. Each step of a run is an event of its
// own, and so is each part of a handler call: it may be the last thing that the process does.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "batch_watch.h"
#include "claims_end.h"
#include "oncemq/framework/batch_machine.h"
#include "surroundings.h"

namespace oncemq::sim {

class SimProcess;
struct SimMessage;

class SimWorker {
 public:
  // `clock`: the process's.
  SimWorker(ActorId actor, uint32_t number, Surroundings& world, const Clock& clock,
            SimProcess& process, std::shared_ptr<SimWindow> window);

  bool idle() const { return taken_.empty(); }
  void Begin(MessageBatch& batch);
  // No further handler of this run starts, if it holds a message of the partition.
  void StopBatchOf(int32_t partition);
  bool Handles(int32_t partition) const;
  bool Holds(int32_t partition) const;  // a message of it, in any state

  // The run as it was taken; settlements() is in the same order.
  const std::vector<uint32_t>& taken() const { return taken_; }
  std::span<Settlement> settlements() { return machine_.settlements(); }
  void End();

 private:
  void Later(Micros most = 200);
  void Step();
  void CallWindow(BatchStep step);
  void NoteClaims();
  void Journal();
  void Park();
  Status PersistEnds();
  void Handle();
  void Attempt(const Grant& grant);
  void SettleOthersLater(Micros delay);
  void SendEffect(const Script& script, bool fails);
  bool OpenEffects(const Grant& grant);
  void WriteEffects(const Script& script, Outcome outcome);
  Status Book(const DeliveryFacts& facts);
  void Finish(Micros delay, Outcome outcome);
  void RenewLater();
  std::function<void()> Inside(BatchStep step);

  const ActorId actor_;
  const uint64_t number_;
  Surroundings& world_;
  const Clock& clock_;
  SimProcess& process_;
  const std::shared_ptr<SimWindow> window_;
  Rng rng_;
  BatchMachine machine_;
  BatchWatch watch_;
  ClaimsEnd claims_end_;
  std::shared_ptr<EffectBatch> effects_;  // of the run, at the level atomic
  std::vector<uint32_t> taken_;           // deliveries
  BootTime safe_until_{};
  uint32_t handling_ = kNone;  // the delivery whose handler runs
  uint64_t owner_epoch_ = 0;   // and its ownership
  uint64_t batch_number_ = 0;
  bool calling_ = false;  // handlers of the run are being called
};

}  // namespace oncemq::sim
