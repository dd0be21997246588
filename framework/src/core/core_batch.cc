// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core_impl.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr int kMostLater = 64;  // lanes looked at in vain

// A batch of owed completions takes nothing else along.
bool FitsBatch(const Delivery& delivery, const MessageBatch& batch) {
  const bool only_owed = !batch.items.empty() && batch.items.front().stage == Stage::kApplied;
  return !only_owed || delivery.carried.stage == Stage::kApplied;
}

// Once on record, it is followed by the later ones of its key.
bool IsRefused(const Delivery& delivery) {
  const Stage stage = delivery.carried.stage;
  return stage == Stage::kRejecting || stage == Stage::kRecorded;
}

// Whether it may come into the batch after the last one of its lane. A refused message holds its
// key back, and comes by itself. Live messages wait for the end of redriven ones.
bool Joins(const Delivery& delivery, const BatchItem& last, bool refused) {
  return !delivery.alone && !refused && (delivery.carried.redriven || !last.redriven);
}

void Fill(const Delivery& delivery, const PartitionState& partition, BatchItem& item) {
  const AssignFacts& facts = partition.facts();
  item.ticket = delivery.ticket;
  item.lane = delivery.lane;
  item.partition = delivery.partition;
  item.message = delivery.message;
  item.id = delivery.id_view();
  item.at = {facts.source, facts.partition, delivery.offset};
  item.owner_epoch = partition.owner_epoch();
  item.time = delivery.time;
  item.first = delivery.offset >= facts.metadata.top;
  item.token.attempt = delivery.token;
  item.attempts.made = delivery.attempt;
  item.alone = delivery.alone;
  item.fingerprint = delivery.fingerprint;
}

// Whether it has to run alone (rule 12). An owed completion calls no handler.
bool IsSuspect(const Delivery& head, const PartitionState& partition) {
  return head.alone && head.carried.stage != Stage::kApplied && partition.Current(head.epoch) &&
         partition.caution.Suspects(head.offset, head.carried.redriven);
}

}  // namespace

bool Core::Impl::TakeBatch(MessageBatch& batch, BootTime now, uint32_t limit) {
  batch.items.clear();
  batch.late.clear();
  batch.safe_until = BootTime::max();
  WakeDue(now);
  ReviewTrial();
  const uint32_t most = std::min(limit, options_.batch);
  TakeOwed(most, batch, now);
  if (trial_.on() && batch.items.empty()) {
    TakeFrom(trial_.partition(), most, batch, now);
    At(trial_.partition()).CommitIfWanted(now, actions_);
  }
  // Of one partition: a store that fails holds up its own partition and no other.
  const auto take_turns = [&] {
    for (size_t turn = 0; turn < partitions_.size() && batch.items.empty() && !trial_.on();
         turn++) {
      const uint32_t partition = lanes_.NextTurn();
      if (partition == kNoIndex) {
        return;
      }
      TakeFrom(partition, most, batch, now);
      lanes_.EndTurn();
      At(partition).CommitIfWanted(now, actions_);
    }
  };
  take_turns();
  if (batch.items.empty() && trial_.others_first()) {
    trial_.NoOthers();
    take_turns();
  }
  if (!batch.items.empty()) {
    trial_.OthersWent();
  }
  trial_.Count(batch.items);
  return !batch.items.empty();
}

// No completion waits for claims or handlers of other messages: their claims might end meanwhile.
// Every other batch at most, so that a partition whose store fails does not hold up the others.
void Core::Impl::TakeOwed(uint32_t most, MessageBatch& batch, BootTime now) {
  owed_last_ = (!owed_last_ || trial_.on()) && !owing_.empty();
  while (owed_last_ && batch.items.empty() && !owing_.empty()) {
    const PartitionId partition = owing_.front();
    owing_.pop_front();
    TakeFrom(partition, most, batch, now);
    At(partition).CommitIfWanted(now, actions_);
    if (batch.items.size() == most) {
      owing_.push_back(partition);  // perhaps there are more
    }
  }
}

void Core::Impl::TakeFrom(PartitionId partition, uint32_t most, MessageBatch& batch, BootTime now) {
  for (int later = 0; batch.items.size() < most && later < kMostLater;) {
    // A suspect stays the first of its partition.
    const uint32_t index = lanes_.NextReady(partition, /*due_too=*/!trial_.on());
    if (index == kNoIndex) {
      return;
    }
    if (trial_.others_first() && !trial_.on() &&
        IsSuspect(slab_[lanes_[index].head], At(partition))) {
      lanes_.MakeReady(index);
      later++;
      continue;
    }
    const bool alone = slab_[lanes_[index].head].alone;
    const bool apart = alone || !FitsBatch(slab_[lanes_[index].head], batch);
    if ((apart && !batch.items.empty()) || !MayGo(index, now)) {
      lanes_.MakeReadyFirst(index);
      return;
    }
    const uint32_t room = alone ? 1 : most - static_cast<uint32_t>(batch.items.size());
    const uint32_t taken = TakeLane(index, room, batch, now);
    if (taken > 0) {
      if (lanes_[index].due && retries_.Retrying(lanes_[index].head)) [[unlikely]] {
        batch.late.push_back(now - waiting_.DueOf(index));
      }
      trial_.HandOut(batch.items.back());
      Lane& lane = lanes_[index];
      ONCEMQ_CHECK(lane.outstanding == 0, "a lane is with one worker at a time");
      lane.taken = lane.outstanding = taken;
      lanes_.Took(index, taken);
      lane.state = LaneState::kBusy;
      if (alone) {
        return;
      }
    }
  }
}

// Whether the head of a ready lane may go to a worker now. Once no call runs in this process, a
// commit names a suspect, and then it goes (rule 12).
bool Core::Impl::MayGo(uint32_t lane, BootTime now) {
  const uint32_t slot = lanes_[lane].head;
  const Delivery& head = slab_[slot];
  if ((!head.alone && !trial_.on()) || head.carried.stage == Stage::kApplied) {
    return true;  // an owed completion calls no handler
  }
  PartitionState& partition = At(head.partition);
  if (!IsSuspect(head, partition)) {
    return !trial_.on();
  }
  const bool other = trial_.granted() || trial_.partition() != head.partition;
  if (trial_.on() && (other || trial_.others_first())) {
    return false;
  }
  if (!partition.MayRun(now) || !partition.Reserves(head.offset)) {
    return true;  // to be put aside
  }
  trial_.Begin(head.partition, {slot, head.ticket});
  if (trial_.calls() > 0) {
    return false;  // a death would be blamed on it
  }
  partition.caution.Try(head.offset);
  return partition.caution.Tries(head.offset);
}

// A trial ends once no commit names a message, or with the assignment. Its last commit names none.
void Core::Impl::ReviewTrial() {
  if (!trial_.on()) {
    return;
  }
  PartitionState& partition = At(trial_.partition());
  const auto stands = [&](const DeliveryName& message) {
    const Delivery& delivery = slab_[message.slot];
    if (delivery.ticket != message.ticket || !partition.Current(delivery.epoch)) {
      return false;
    }
    const Lane& lane = lanes_[delivery.lane];
    const bool waits = lane.state == LaneState::kReady && lane.head == message.slot &&
                       partition.caution.Suspects(delivery.offset, delivery.carried.redriven);
    return trial_.granted() ? delivery.running : waits;
  };
  if (trial_.has_message() && (!partition.MayAdmit() || !stands(trial_.message()))) {
    trial_.Withdraw();
    partition.caution.Try(std::nullopt);
  }
  const PartitionPhase phase = partition.phase();
  const bool over = phase == PartitionPhase::kNone || phase == PartitionPhase::kDraining ||
                    phase == PartitionPhase::kStopped;
  if (!trial_.has_message() && (over || !partition.caution.names())) {
    trial_.End();
  }
}

// Takes a prefix of the lane, or sets the lane aside where its head waits for something.
uint32_t Core::Impl::TakeLane(uint32_t index, uint32_t room, MessageBatch& batch, BootTime now) {
  const Lane& lane = lanes_[index];
  const bool parked = options_.refusals.parks && parked_.Holds(lane.group, lane.hash);
  const uint32_t limit = lane.solo ? 1 : std::min(room, options_.lane_batch);
  const size_t begin = batch.items.size();
  for (uint32_t slot = lane.head; slot != kNoIndex && batch.items.size() - begin < limit;) {
    Delivery& delivery = slab_[slot];
    if (!FitsBatch(delivery, batch)) {
      break;
    }
    const bool redriven = delivery.carried.redriven;
    const bool refused = options_.refusals.parks && (!parked || redriven) && IsRefused(delivery);
    if (slot != lane.head && !Joins(delivery, batch.items.back(), refused)) {
      break;
    }
    PartitionState& partition = At(delivery.partition);
    const bool current = partition.Current(delivery.epoch);
    // What has run already only needs its marker: that is owed in any phase.
    const bool owed = delivery.carried.stage == Stage::kApplied;
    const bool may = owed || partition.MayRun(now);
    const bool reserved = owed || partition.Reserves(delivery.offset);
    if (may && !reserved) [[unlikely]] {
      partition.KeptBack(delivery.offset);
    }
    if (!may || !reserved) {
      if (batch.items.size() == begin) {
        lanes_.PutAside(partition.held, index);
      }
      break;
    }
    bool copy = false;
    const bool held = delivery.id_hash == 0 || HoldId(index, slot, begin, batch, copy);
    if (!held || (copy && redriven)) {
      if (batch.items.size() == begin) {
        lanes_.PutAside(ids_.Find(delivery.id_hash)->waiting, index);
      }
      break;
    }
    // Filled where it stays: a copy of fields that were stored just now waits for the stores.
    BatchItem& item = batch.items.emplace_back();
    item.copy = copy;
    item.slot = slot;
    Fill(delivery, partition, item);
    kept_outcomes_.Fill(delivery, item);
    item.follows = parked && !redriven;
    if (!owed) {
      partition.Taken(delivery.offset);
    }
    delivery.running = true;
    delivery.raise = partition.raise();
    if (current) {
      partition.running +=
          delivery.carried.stage == Stage::kApplied ? 0 : 1;  // else it still counts
      batch.safe_until = std::min(batch.safe_until, partition.safe_until());
    }
    slot = delivery.next;
    if (slot != kNoIndex) {
      __builtin_prefetch(&slab_[slot], 1);
    }
    if (refused) [[unlikely]] {
      break;
    }
  }
  return static_cast<uint32_t>(batch.items.size() - begin);
}

// Reserves the id for this delivery. False: another delivery of it runs in this process, so this
// one waits (rule 14). A copy behind its original in the same lane of the same batch may come
// along: it follows the original's outcome.
bool Core::Impl::HoldId(uint32_t index, uint32_t slot, size_t begin, const MessageBatch& batch,
                        bool& copy) {
  Delivery& delivery = slab_[slot];
  if (delivery.holds_id) {
    return true;  // kept through a pause, because its outcome is owed
  }
  const RunningIds::Entry* entry = ids_.Find(delivery.id_hash);
  if (entry == nullptr) {
    ids_.Hold(delivery.id_hash, slot);
    delivery.holds_id = true;
    return true;
  }
  // Only equal bytes are a copy: what has another one's hash waits, or it would run without a hold.
  const Delivery& holder = slab_[entry->holder];
  const bool in_this_batch = batch.items.size() > begin && holder.lane == index && holder.running &&
                             holder.id_view() == delivery.id_view();
  copy = in_this_batch;
  return in_this_batch;
}

}  // namespace oncemq
