// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core_impl.h"
#include "oncemq/framework/outcome.h"

namespace oncemq {
namespace {

bool IsFinal(DeliveryFate fate) {
  return fate == DeliveryFate::kApplied || fate == DeliveryFate::kSuppressed ||
         fate == DeliveryFate::kParked || fate == DeliveryFate::kRejected ||
         fate == DeliveryFate::kRestored;
}

// What became of the offset, which is not always what became of this delivery of it: an own
// redelivery is suppressed, because its offset was applied before.
Verdict VerdictOf(const Settlement& settlement) {
  switch (settlement.fate) {
    case DeliveryFate::kApplied:
      return Verdict::kApplied;
    case DeliveryFate::kSuppressed:
      return settlement.same_delivery ? Verdict::kApplied : Verdict::kSuppressed;
    case DeliveryFate::kParked:
      return Verdict::kParked;
    case DeliveryFate::kRejected:
      return Verdict::kRejected;
    default:
      return Verdict::kCarried;
  }
}

// `follows`: a message of its key was parked before it.
ParkCause CauseOf(const Settlement& settlement, bool follows) {
  if (settlement.attached) {
    return ParkCause::kAttached;
  }
  if (settlement.conflict) {
    return ParkCause::kConflict;
  }
  const bool called = settlement.handled || settlement.attempts.made > 0;
  return called ? ParkCause::kHandler : follows ? ParkCause::kFollows : ParkCause::kUncalled;
}

// It went with nothing else. If its call has returned, it did not kill the process.
void NoteTried(const Settlement& settlement, int64_t offset, Caution& caution, Trial& trial) {
  if (settlement.handled || IsFinal(settlement.fate)) {
    caution.Left(offset);
  }
  if (trial.Is(settlement)) {
    trial.Withdraw();
    caution.Try(std::nullopt);
  }
}

}  // namespace

void Core::Impl::Settle(std::span<Settlement> settlements, BootTime now) {
  for (const Settlement& settlement : settlements) {
    __builtin_prefetch(&slab_[settlement.slot], 1);
  }
  for (Settlement& settlement : settlements) {
    Delivery& delivery = slab_[settlement.slot];
    ONCEMQ_CHECK(delivery.ticket == settlement.ticket && delivery.running,
                 "a delivery is settled once for each time it is taken");
    PartitionState& partition = At(delivery.partition);
    const bool current = partition.Current(delivery.epoch);
    delivery.running = false;
    trial_.Returned(delivery.carried.stage == Stage::kApplied);
    if (delivery.alone && current) [[unlikely]] {
      NoteTried(settlement, delivery.offset, partition.caution, trial_);
    }
    // A handler that is through without its marker counts as running: a drain waits for it too.
    const bool owed = !IsFinal(settlement.fate) && settlement.stage == Stage::kApplied;
    if (current && !owed && partition.running > 0) {
      partition.running--;
    }
    partition.counts.handler_calls += settlement.handled ? 1 : 0;
    if (IsFinal(settlement.fate)) {
      Account(partition, settlement, current);
      if (options_.refusals.parks && current) {
        parked_.Note(settlement, delivery.partition, lanes_[delivery.lane]);
      }
      if (current && !delivery.again) {
        partition.Finish(delivery.arrival, VerdictOf(settlement), settlement.uncertain);
      }
      delivery.finished = true;
      retries_.Forget(settlement.slot, delivery.partition, delivery.offset);
      ReleaseId(delivery);
    } else {
      NoteWait(delivery, settlement, now);
      if (settlement.fenced) [[unlikely]] {
        partition.counts.fenced[static_cast<size_t>(*settlement.fenced)]++;
      }
      Keep(delivery, settlement.slot, settlement);
      NoteUncertain(partition, delivery);
      // One that stops its partition is not settled any further: it is handed back.
      partition.counts.conflict +=
          settlement.fate == DeliveryFate::kStop && settlement.conflict ? 1 : 0;
      if (current && settlement.fate == DeliveryFate::kOwnershipLost) {
        partition.OwnershipLost(delivery.raise, now, actions_);
      } else if (current && settlement.fate == DeliveryFate::kStop) {
        if (partition.Halt(delivery.offset, std::move(settlement.text), actions_)) {
          OpenMessage message = Describe(delivery, settlement.slot);
          message.state = OpenState::kStopped;
          std::get<StopAction>(actions_.back()).message = std::move(message);
        }
        halted_.push_back(delivery.partition);
      }
    }
    if (current) {
      partition.BatchEnded(now, actions_);
    }
    ONCEMQ_CHECK(lanes_[delivery.lane].outstanding > 0, "a lane waits for what it gave out");
    if (--lanes_[delivery.lane].outstanding == 0) {
      EndBatch(delivery.lane, now);
    }
  }
  // A stopped partition must not hold the credit that the others live on.
  for (const PartitionId id : halted_) {
    HandBackQueued(id);
  }
  halted_.clear();
}

void Core::Impl::Account(PartitionState& partition, const Settlement& settlement, bool current) {
  DeliveryCounts& counts = partition.counts;
  counts.open--;
  switch (settlement.fate) {
    case DeliveryFate::kApplied:
      counts.applied++;
      break;
    case DeliveryFate::kParked:
      counts.parked++;
      if (!settlement.redriven) {
        const Delivery& delivery = slab_[settlement.slot];
        const bool follows = parked_.Holds(delivery.partition, lanes_[delivery.lane].hash);
        counts.parked_by[static_cast<size_t>(CauseOf(settlement, follows))]++;
      }
      break;
    case DeliveryFate::kRejected:
      counts.rejected++;
      break;
    default:
      counts.suppressed++;
      break;
  }
  const bool restored = settlement.fate == DeliveryFate::kRestored;
  counts.uncertain += settlement.uncertain ? 1 : 0;
  counts.own_redelivery += settlement.same_delivery || restored ? 1 : 0;
  counts.attached += settlement.attached ? 1 : 0;
  counts.conflict += settlement.conflict ? 1 : 0;
  counts.result_dropped += settlement.result_dropped ? 1 : 0;
  counts.unprotected += settlement.unprotected ? 1 : 0;
  counts.repaired += restored ? 1 : 0;
  counts.stale += current ? 0 : 1;
  if (settlement.redriven) [[unlikely]] {
    const RedriveEnd end = settlement.fate == DeliveryFate::kParked ? RedriveEnd::kParked
                           : kept_outcomes_[settlement.slot].drop   ? RedriveEnd::kDropped
                                                                    : RedriveEnd::kDone;
    counts.redriven[static_cast<size_t>(end)]++;
  }
}

// A delivery that goes back though its handler may have had its effect: the last commit names it
// (rule 11). Noted before BatchEnded(), which may ask for that commit.
void Core::Impl::NoteUncertain(PartitionState& partition, const Delivery& delivery) {
  const Carried& carried = delivery.carried;
  if (options_.suspects && carried.touched && !carried.redriven && partition.GivesUpQueued()) {
    partition.uncertain_offsets.push_back(delivery.offset);
  }
}

// A message that only waits for its store keeps the word of its handler.
void Core::Impl::NoteWait(const Delivery& delivery, const Settlement& settlement, BootTime now) {
  const bool retry = settlement.fate == DeliveryFate::kRetry;
  if (retry) {
    DeliveryCounts& counts = At(delivery.partition).counts;
    settlement.not_done ? counts.retries_not_done++ : counts.retries++;
  }
  if (retry || settlement.fate == DeliveryFate::kWait) {
    const Retries::Wait wait{.retry = retry,
                             .until = now + settlement.wait,
                             .why = settlement.text.substr(0, kLongestRetryReason)};
    retries_.Note(settlement.slot, delivery.partition, delivery.offset, wait);
  } else if (settlement.handled) {
    retries_.Forget(settlement.slot, delivery.partition, delivery.offset);
  }
}

// Not final: the delivery stays at its place in the lane and remembers how far it has come.
void Core::Impl::Keep(Delivery& delivery, uint32_t slot, Settlement& settlement) {
  const bool was_decided = IsDecided(delivery.carried.stage);
  delivery.carried = settlement.carried();
  // The window may not tell it again: a doubt of the claim lives on in the delivery.
  delivery.carried.touched |= settlement.uncertain;
  delivery.alone |= settlement.alone;
  delivery.token = settlement.token.attempt;
  if (settlement.handled) {
    delivery.attempt = static_cast<uint16_t>(std::min(delivery.attempt + 1, 0xffff));
  }
  if (settlement.attempts.failed > 0) {
    kept_outcomes_[slot].attempts = settlement.attempts;
  }
  if (IsDecided(settlement.stage)) {
    KeptOutcome& kept = kept_outcomes_[slot];
    kept.text = std::move(settlement.text);
    kept.entry = settlement.entry;
  } else {
    ReleaseId(delivery);
    if (was_decided) {
      kept_outcomes_[slot].text.clear();
    }
  }
  if (settlement.fate == DeliveryFate::kRetry || settlement.fate == DeliveryFate::kWait ||
      settlement.fate == DeliveryFate::kPending) {
    Lane& lane = lanes_[delivery.lane];
    lane.wait = std::max<int64_t>(lane.wait, settlement.wait.count());
    // A first retry takes its followers along again; what fails again goes alone, and so does what
    // waits for another's claim (rule 17).
    lane.stuck |= settlement.fate != DeliveryFate::kRetry || delivery.attempt > 1;
  }
}

void Core::Impl::FindOwedClaims(std::vector<HeldClaim>& claims) {
  for (const auto& [slot, outcome] : kept_outcomes_) {
    const Delivery& delivery = slab_[slot];
    if (IsDecided(delivery.carried.stage) && delivery.token != 0) {
      const AssignFacts& facts = At(delivery.partition).facts();
      claims.push_back({std::string(delivery.id_view()),
                        {.attempt = delivery.token},
                        {facts.source, facts.partition, delivery.offset}});
    }
  }
}

void Core::Impl::ReleaseId(Delivery& delivery) {
  if (delivery.holds_id) {
    delivery.holds_id = false;
    LaneList waiting = ids_.Release(delivery.id_hash);
    lanes_.WakeAll(waiting);
  }
}

// All of the lane's batch is settled: what is final leaves, the rest stays at the head, in order.
void Core::Impl::EndBatch(uint32_t index, BootTime now) {
  Lane& lane = lanes_[index];
  ONCEMQ_CHECK(lane.state == LaneState::kBusy && lane.head != kNoIndex,
               "a batch ends in the lane that it was taken from");
  const bool moved = slab_[lane.head].finished;
  const uint32_t head = lane.head;
  // What was queued behind the batch when an assignment ended is gone already: a long lane must not
  // cost its whole length after each batch.
  const auto gone = [&](uint32_t slot) {
    Delivery& delivery = slab_[slot];
    PartitionState& partition = At(delivery.partition);
    const bool owed = delivery.carried.stage == Stage::kApplied;
    // Put back by the batch after its assignment ended: somebody else's now.
    const bool stale = !partition.Current(delivery.epoch);
    const bool redrive_ends = lane.redrive_ends && delivery.carried.redriven;
    const bool leaves = !owed && (stale || partition.GivesUpQueued() || redrive_ends);
    if (!delivery.finished && !leaves) {
      return false;
    }
    if (!delivery.finished) {
      NoteUncertain(partition, delivery);
      partition.counts.handed_back++;
      partition.counts.open--;
      ReleaseId(delivery);
    }
    Free(slot);
    return true;
  };
  if (lanes_.Filter(index, gone, lane.redrive_ends ? kNoIndex : lane.taken)) {
    lanes_.Erase(index);
    return;
  }
  lane.solo = lane.stuck || (lane.solo && !moved);
  lane.stuck = lane.redrive_ends = false;
  const microseconds wait(std::exchange(lane.wait, 0));
  if (lane.counted && lane.head != head && waiting_.Waits(index)) {
    waiting_.End(index);
  }
  if (wait == microseconds(0)) {
    return MakeReady(index);
  }
  if (!lane.counted) {
    lane.counted = true;
    waiting_.Add(index, lane.group);
    for (uint32_t slot = lane.head; slot != kNoIndex; slot = slab_[slot].next) {
      waiting_.Join(index, {1, slab_[slot].bytes});
    }
  }
  if (!waiting_.Waits(index)) {
    waiting_.Begin(index, now);
  }
  lane.state = LaneState::kAside;
  // A silent store is not the fault of a message.
  const bool fails =
      slab_[lane.head].carried.stage == Stage::kFresh && retries_.Retrying(lane.head);
  waiting_.Pause(index, now + wait, fails);
}

void Core::Impl::ParkLongestWaiting() {
  while (const auto index = waiting_.Cut()) {
    kept_outcomes_[lanes_[*index].head].text =
        "the budget for waiting messages is used up, and its key has waited longest";
    MakeReady(*index);
  }
}

// A lane that begins with an owed completion goes before all others of its partition.
void Core::Impl::MakeReady(uint32_t index) {
  const Lane& lane = lanes_[index];
  if (slab_[lane.head].carried.stage != Stage::kApplied) {
    return lanes_.MakeReady(index);
  }
  lanes_.MakeReadyFirst(index);
  if (std::find(owing_.begin(), owing_.end(), lane.group) == owing_.end()) {
    owing_.push_back(lane.group);
  }
}

void Core::Impl::WakeDue(BootTime now) {
  while (const auto lane = waiting_.PopDue(now)) {
    const bool owed = slab_[lanes_[*lane].head].carried.stage == Stage::kApplied;
    owed ? MakeReady(*lane) : lanes_.MakeDue(*lane);
  }
}

}  // namespace oncemq
