// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "delivery.h"
#include "kept_outcomes.h"
#include "oncemq/framework/core.h"
#include "oncemq/ordering/running_ids.h"
#include "parked_lanes.h"
#include "partition_state.h"
#include "retries.h"
#include "trial.h"
#include "usual_size.h"
#include "waiting.h"

namespace oncemq {

// Lanes, batches and settlements; what belongs to one partition only is in PartitionState.
class Core::Impl {
 public:
  explicit Impl(const CoreOptions& options);

  // core_admit.cc
  uint32_t Credit(PartitionId id);
  void Admit(PartitionId id, std::span<const Arrival> arrivals);
  void AdmitRedriven(PartitionId id, std::span<const RedrivenArrival> arrivals);
  void NoteUncertainQueued(PartitionId id);
  void HandBackQueued(PartitionId id);

  // core_batch.cc
  bool TakeBatch(MessageBatch& batch, BootTime now, uint32_t limit);

  // core_left_behind.cc
  void TakeLeftBehind(std::vector<LeftBehind>& messages);
  void Replace(std::span<const LeftBehind> copies);

  // core_oldest.cc
  void FindOldest(std::span<OpenMessage> messages);

  // core_settle.cc
  void Settle(std::span<Settlement> settlements, BootTime now);
  void WakeDue(BootTime now);
  void ParkLongestWaiting();
  void FindOwedClaims(std::vector<HeldClaim>& claims);

  PartitionState& At(PartitionId id) {
    return id < partitions_.size() ? *partitions_[id] : Create(id);
  }

  const CoreOptions options_;
  std::vector<std::unique_ptr<PartitionState>> partitions_;
  std::vector<Action> actions_;
  std::vector<void*> released_;
  std::vector<PartitionId> halted_;  // by the settlements at hand
  std::vector<Delivery> slab_;
  LaneTable<Delivery> lanes_;
  RunningIds ids_;
  Waiting waiting_;
  Retries retries_;
  ParkedLanes parked_;
  uint32_t free_head_ = 0;
  uint32_t open_ = 0;  // slots in use
  Trial trial_;
  uint64_t bytes_ = 0;

  // The messages that have to be copied (core_left_behind.cc). A stamp counts the bytes that were
  // admitted before the delivery of its slot; the two values above all counts say that it is not
  // looked for.
  static constexpr uint64_t kNoStamp = UINT64_MAX;     // the slot is free
  static constexpr uint64_t kCopied = UINT64_MAX - 1;  // its message is a copy
  std::vector<uint64_t> stamps_;
  uint64_t admitted_ = 0;      // bytes, in all
  uint64_t check_at_ = 0;      // of these, at the next look
  uint64_t copied_bytes_ = 0;  // of bytes_
  uint32_t used_ = 0;          // no slot from here on was ever taken

  UsualSize usual_;

 private:
  PartitionState& Create(PartitionId id);
  uint64_t LaneHash(PartitionId id, const Arrival& arrival);
  uint32_t TakeSlot(const PartitionState& partition, PartitionId id, const Arrival& arrival,
                    const Frontier::Arrival& place, Carried carried);
  void CountAdmitted(PartitionState& partition, uint32_t count, uint64_t bytes);
  uint64_t IdHash(PartitionId id, const Arrival& arrival) const;
  void Free(uint32_t slot);
  void TakeFrom(PartitionId partition, uint32_t most, MessageBatch& batch, BootTime now);
  bool MayGo(uint32_t lane, BootTime now);
  void ReviewTrial();
  void TakeOwed(uint32_t most, MessageBatch& batch, BootTime now);
  void MakeReady(uint32_t lane);
  uint32_t TakeLane(uint32_t index, uint32_t room, MessageBatch& batch, BootTime now);
  bool HoldId(uint32_t index, uint32_t slot, size_t lane_begin, const MessageBatch& batch,
              bool& copy);
  void Keep(Delivery& delivery, uint32_t slot, Settlement& settlement);
  void NoteUncertain(PartitionState& partition, const Delivery& delivery);
  void NoteWait(const Delivery& delivery, const Settlement& settlement, BootTime now);
  OpenMessage Describe(const Delivery& delivery, uint32_t slot) const;
  void ReleaseId(Delivery& delivery);
  void Account(PartitionState& partition, const Settlement& settlement, bool current);
  void EndBatch(uint32_t index, BootTime now);
  void JoinWaiting(const Delivery& delivery) {
    if (lanes_[delivery.lane].counted) [[unlikely]] {
      waiting_.Join(delivery.lane, {1, delivery.bytes});
    }
  }
  std::vector<int64_t> RunningOffsets(PartitionId id);

  KeptOutcomes kept_outcomes_;
  std::deque<PartitionId> owing_;  // partitions with a lane that begins with an owed marker
  bool owed_last_ = false;         // the last batch was of one of them
  uint64_t no_key_ = 0;            // gives deliveries without a key lanes of their own
};

}  // namespace oncemq
