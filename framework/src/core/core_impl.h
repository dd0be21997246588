// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "delivery.h"
#include "oncemq/framework/core.h"
#include "oncemq/ordering/running_ids.h"
#include "partition_state.h"
#include "timers.h"

namespace oncemq {

// Lanes, runs and settlements; what belongs to one partition only is in PartitionState.
class Core::Impl {
 public:
  explicit Impl(const CoreOptions& options);

  // core_admit.cc
  uint32_t Credit(PartitionState& partition);
  void Admit(PartitionId id, std::span<const Arrival> arrivals);
  void HandBackQueued(PartitionId id);

  // core_run.cc
  bool TakeRun(Run& run, BootTime now, uint32_t limit);

  // core_settle.cc
  void Settle(std::span<Settlement> settlements, BootTime now);
  void WakeDue(BootTime now);

  PartitionState& At(PartitionId id) {
    return id < partitions_.size() ? *partitions_[id] : Create(id);
  }
  void WakeHeld(PartitionState& partition) { lanes_.WakeAll(partition.held); }

  const CoreOptions options_;
  std::vector<std::unique_ptr<PartitionState>> partitions_;
  std::vector<Action> actions_;
  std::vector<void*> released_;
  std::vector<PartitionId> halted_;  // by the settlements at hand
  std::vector<Delivery> slab_;
  LaneTable<Delivery> lanes_;
  RunningIds ids_;
  LaneTimers timers_;
  uint32_t free_head_ = 0;
  uint32_t free_ = 0;
  uint32_t running_ = 0;
  uint64_t bytes_ = 0;
  // Of one message, lately: follows larger ones at once and smaller ones slowly. At first a guess
  // that lets a few messages in.
  uint64_t usual_bytes_;
  bool size_known_ = false;

 private:
  PartitionState& Create(PartitionId id);
  uint64_t LaneHash(PartitionId id, const Arrival& arrival);
  void LearnSize(uint64_t bytes, size_t messages);
  void Free(uint32_t slot);
  void EraseEmptyLanes();
  void TakeFrom(PartitionId partition, uint32_t most, Run& run, BootTime now);
  uint32_t TakeLane(uint32_t index, uint32_t room, Run& run, BootTime now);
  bool HoldId(uint32_t index, uint32_t slot, size_t lane_begin, const Run& run, bool& copy);
  void SetAsideForId(uint32_t index, uint64_t id_hash);
  void Keep(Delivery& delivery, uint32_t slot, Settlement& settlement);
  void Finish(Delivery& delivery, const Settlement& settlement);
  void ReleaseId(Delivery& delivery);
  void Account(PartitionState& partition, const Settlement& settlement, bool current);
  void EndRun(uint32_t index, BootTime now);
  std::vector<int64_t> RunningOffsets(PartitionId id);

  std::unordered_map<uint32_t, std::string> texts_;  // of kApplied and kRejecting deliveries; few
  uint64_t no_key_ = 0;  // gives deliveries without a key lanes of their own
};

}  // namespace oncemq
