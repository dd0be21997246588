// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core_impl.h"
#include "oncemq/base/check.h"
#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

// A suspect runs alone. With enough deaths it is refused in place of a call (rule 12).
void NoteDeaths(const Caution& caution, uint32_t slot, Delivery& delivery, KeptOutcomes& outcomes) {
  const uint32_t deaths = caution.Killed(delivery.offset);
  if (deaths > 0) {
    delivery.attempt = static_cast<uint16_t>(deaths);  // calls of its handler
    outcomes[slot].text =
        "killed its process " + std::to_string(deaths) + (deaths == 1 ? " time" : " times");
  }
  delivery.alone = deaths > 0 || caution.Suspects(delivery.offset, delivery.carried.redriven);
}

// Whether a message, refused under the commit, was redriven to its end since.
bool HasEnded(int64_t offset, PartitionId id, const CommitMetadata& commit,
              const ParkedLanes& parked) {
  const auto recorded = commit.RecordedFrom();
  return recorded && offset >= *recorded && !parked.Has(id, offset);
}

}  // namespace

uint32_t Core::Impl::Credit(PartitionId id) {
  PartitionState& partition = At(id);
  const Waiting::Load& waiting = waiting_.all();
  const Waiting::Load here = waiting_.of(id);
  const uint32_t unfinished = open_ - waiting.messages;
  const uint32_t of_partition = partition.unfinished - here.messages;
  const uint64_t bytes = bytes_ - waiting.bytes;
  const bool used_up = bytes >= options_.in_flight_bytes || unfinished >= options_.in_flight ||
                       of_partition >= options_.partition_credit;
  if (!partition.MayAdmit() || used_up) {
    return 0;
  }
  if (here.messages > 0 && waiting_.used_up()) {
    return 0;  // its next messages may have to wait, too
  }
  if (partition.MapFull()) {
    return 0;
  }
  // Advance here and not only at commits, or a full span would wait for a commit that waits for
  // credit.
  partition.frontier().Advance();
  const uint64_t left = options_.in_flight_bytes - bytes;
  const uint64_t fitting = std::clamp<uint64_t>(left / usual_.bytes(), 1, UINT32_MAX);
  return std::min({static_cast<uint32_t>(slab_.size()) - open_, options_.in_flight - unfinished,
                   options_.partition_credit - of_partition, partition.frontier().room(),
                   static_cast<uint32_t>(fitting)});
}

// Mixed with the partition: order holds within (partition, key), and one partition must not hold up
// another.
uint64_t Core::Impl::LaneHash(PartitionId id, const Arrival& arrival) {
  if (options_.order == Order::kKey && arrival.key_hash != 0) {
    return ParkedLanes::Keyed(arrival.key_hash, id);
  }
  return ParkedLanes::Unkeyed(options_.order == Order::kPartition ? id : ++no_key_);
}

// 0 for no id. Equal for different ids at times: slower, never wrong (running_ids.h).
uint64_t Core::Impl::IdHash(PartitionId id, const Arrival& arrival) const {
  if (!options_.partition_owned || arrival.id_hash == 0) {
    return arrival.id_hash;
  }
  return std::max<uint64_t>(arrival.id_hash ^ MixBits(id + 1), 1);
}

void Core::Impl::Admit(PartitionId id, std::span<const Arrival> arrivals) {
  PartitionState& partition = At(id);
  ONCEMQ_CHECK(arrivals.size() <= slab_.size() - open_, "the shell admits no more than its credit");
  if (options_.order == Order::kKey) {
    for (const Arrival& arrival : arrivals) {
      lanes_.Prefetch(ParkedLanes::Keyed(arrival.key_hash, id));
      ids_.Prefetch(IdHash(id, arrival));  // for the batch that takes it, soon
    }
  }
  const uint64_t before = bytes_;
  LogTime oldest = LogTime::max();
  for (const Arrival& arrival : arrivals) {
    const Frontier::Arrival place = partition.frontier().Add(arrival.offset);
    const Carried carried{.stage = place.finished ? Stage::kCarried : Stage::kFresh};
    const uint32_t slot = TakeSlot(partition, id, arrival, place, carried);
    Delivery& delivery = slab_[slot];
    if (arrival.time != kNoLogTime) {
      oldest = std::min(oldest, arrival.time);
    }
    const bool parks = options_.refusals.parks;
    const bool recorded = parks && !place.finished && parked_.Has(id, arrival.offset);
    const bool ended = parks && place.not_done &&
                       HasEnded(arrival.offset, id, partition.facts().metadata, parked_);
    if ((place.not_done && !ended) || recorded) [[unlikely]] {
      delivery.carried.stage = Stage::kNotDone;
      delivery.id_hash = 0;  // it neither waits for its id nor holds it up
      partition.caution.Left(arrival.offset);
    }
    const bool has_id = !arrival.id.empty() || arrival.refusal != nullptr;  // or needs none
    const bool suspect = partition.Suspects(arrival.offset, has_id) && !place.finished;
    if (suspect) [[unlikely]] {
      delivery.carried.touched = true;
      delivery.attempt = 1;  // by that owner, as far as anybody knows
    }
    if (arrival.refusal != nullptr && !place.finished && !recorded) [[unlikely]] {
      delivery.carried.stage = Stage::kRejecting;
      kept_outcomes_[slot].text = arrival.refusal;
    }
    if (partition.caution.on() && delivery.carried.stage == Stage::kFresh) [[unlikely]] {
      NoteDeaths(partition.caution, slot, delivery, kept_outcomes_);
    }
    lanes_.Append(LaneHash(id, arrival), slot, id);
    JoinWaiting(delivery);
  }
  const auto count = static_cast<uint32_t>(arrivals.size());
  partition.log_times.Note(arrivals.back().offset, oldest == LogTime::max() ? kNoLogTime : oldest,
                           count);
  CountAdmitted(partition, count, bytes_ - before);
}

inline uint32_t Core::Impl::TakeSlot(const PartitionState& partition, PartitionId id,
                                     const Arrival& arrival, const Frontier::Arrival& place,
                                     Carried carried) {
  const uint32_t slot = free_head_;
  Delivery& delivery = slab_[slot];
  free_head_ = delivery.next;
  open_++;
  if (free_head_ != kNoIndex) {
    __builtin_prefetch(&slab_[free_head_], 1);
  }
  const uint32_t ticket = delivery.ticket;
  // All at once: cleared first, its bytes would be waited for.
  delivery = Delivery{.message = arrival.message,
                      .id = arrival.id.data(),
                      .id_hash = IdHash(id, arrival),
                      .offset = arrival.offset,
                      .time = arrival.time,
                      .ticket = ticket,
                      .epoch = partition.epoch(),
                      .arrival = place.number,
                      .bytes = arrival.bytes,
                      .fingerprint = arrival.fingerprint,
                      .partition = id,
                      .id_size = static_cast<uint16_t>(arrival.id.size()),
                      .carried = carried,
                      .again = place.again};
  bytes_ += arrival.bytes;
  stamps_[slot] = admitted_;
  return slot;
}

void Core::Impl::CountAdmitted(PartitionState& partition, uint32_t count, uint64_t bytes) {
  usual_.Learn(bytes, count);
  admitted_ += bytes;
  used_ = std::max(used_, open_);  // a free slot is taken again first
  partition.unfinished += count;
  partition.counts.deliveries += count;
  partition.counts.open += count;
}

void Core::Impl::AdmitRedriven(PartitionId id, std::span<const RedrivenArrival> arrivals) {
  PartitionState& partition = At(id);
  ONCEMQ_CHECK(arrivals.size() <= slab_.size() - open_, "the shell admits no more than its credit");
  if (arrivals.empty()) {
    return;
  }
  const uint64_t before = bytes_;
  for (const RedrivenArrival& arrival : arrivals) {
    const bool refused = arrival.refusal != nullptr && !arrival.drop;
    const Carried carried{.stage = refused ? Stage::kRejecting : Stage::kFresh,
                          .touched = arrival.called,
                          .redriven = true};
    const uint32_t slot = TakeSlot(partition, id, arrival, {.again = true}, carried);
    kept_outcomes_[slot] = {
        .text = refused ? arrival.refusal : "", .drop = arrival.drop, .first = arrival.first};
    if (arrival.begun) {
      partition.caution.WasInHand(arrival.offset);
    }
    if (partition.caution.on() && !refused && !arrival.drop) {
      NoteDeaths(partition.caution, slot, slab_[slot], kept_outcomes_);
    }
    // After a batch, live messages may stand before redriven ones.
    uint32_t passed = 0;
    const auto stays = [&](const Lane& lane, uint32_t other) {
      const Carried& its = slab_[other].carried;
      const bool more = passed < lane.redriven;
      passed += its.redriven ? 1 : 0;
      return more || IsDecided(its.stage);
    };
    lanes_.Insert(LaneHash(id, arrival), slot, id, stays);
    lanes_[slab_[slot].lane].redriven++;
    JoinWaiting(slab_[slot]);
  }
  CountAdmitted(partition, static_cast<uint32_t>(arrivals.size()), bytes_ - before);
}

// Before queued deliveries are handed back: the last commit names those that a handler may have
// begun (rule 11). An earlier copy of a begun message is one of them, since the next owner comes to
// that copy first.
void Core::Impl::NoteUncertainQueued(PartitionId id) {
  if (!options_.suspects) {
    return;
  }
  PartitionState& partition = At(id);
  const auto for_each = [&](auto visit) {
    const auto inspect = [&](uint32_t slot) {
      const Delivery& delivery = slab_[slot];
      if (delivery.partition == id && !delivery.finished && !delivery.carried.redriven) {
        const bool owed = delivery.running || delivery.carried.stage == Stage::kApplied;
        visit(delivery, owed);
      }
      return false;
    };
    lanes_.ForEach([&](uint32_t lane) { lanes_.Filter(lane, inspect); });
  };
  std::unordered_map<uint64_t, int64_t> begun;  // by id, the last offset
  for_each([&](const Delivery& delivery, bool owed) {
    if ((owed || delivery.carried.touched) && delivery.id_hash != 0) {
      int64_t& last = begun.try_emplace(delivery.id_hash, delivery.offset).first->second;
      last = std::max(last, delivery.offset);
    }
  });
  for_each([&](const Delivery& delivery, bool owed) {
    const auto copy = begun.find(delivery.id_hash);
    const bool before_copy = copy != begun.end() && delivery.offset < copy->second;
    if ((delivery.carried.touched || before_copy) && !owed && partition.Current(delivery.epoch)) {
      partition.uncertain_offsets.push_back(delivery.offset);
    }
  });
}

void Core::Impl::HandBackQueued(PartitionId id) {
  // Rebalances are rare: a walk over all lanes is cheaper than what every message would pay for a
  // list per partition.
  PartitionState& partition = At(id);
  const auto gone = [&](uint32_t slot) {
    Delivery& delivery = slab_[slot];
    // A handler that has run is owed its marker, whoever owns the partition by now (rule 15).
    const bool owed = delivery.carried.stage == Stage::kApplied;
    if (delivery.partition != id || delivery.running || delivery.finished || owed) {
      return false;
    }
    partition.counts.handed_back++;
    partition.counts.open--;
    ReleaseId(delivery);
    Free(slot);
    return true;
  };
  std::vector<uint32_t> live;
  lanes_.ForEach([&](uint32_t lane) { live.push_back(lane); });
  std::sort(live.begin(), live.end());  // the hash differs by process, a trace must not
  NoteUncertainQueued(id);
  for (const uint32_t lane : live) {
    lanes_.Filter(lane, gone);  // `gone` itself spares what a batch still has
  }
  ONCEMQ_CHECK(partition.counts.Balanced(), "each delivery is in exactly one count (rule 51)");
  lanes_.WakeAll(partition.held);
  // Lanes with a worker end with their batch.
  lanes_.EraseEmptyReady();
  ids_.ForEachWaiting([&](LaneList& waiting) { lanes_.EraseEmpty(waiting); });
  waiting_.RemoveIf([&](uint32_t lane) {
    const bool empty = lanes_[lane].head == kNoIndex;
    if (empty) {
      lanes_.Erase(lane);
    }
    return empty;
  });
}

void Core::Impl::Free(uint32_t slot) {
  Delivery& delivery = slab_[slot];
  released_.push_back(delivery.message);
  ONCEMQ_CHECK(bytes_ >= delivery.bytes, "the bytes of each admitted delivery are counted");
  bytes_ -= delivery.bytes;
  if (copied_bytes_ > 0 && stamps_[slot] == kCopied) {
    copied_bytes_ -= delivery.bytes;
  }
  lanes_[delivery.lane].redriven -= delivery.carried.redriven ? 1 : 0;
  if (lanes_[delivery.lane].counted) [[unlikely]] {
    waiting_.Leave(delivery.lane, {1, delivery.bytes});
  }
  PartitionState& partition = At(delivery.partition);
  ONCEMQ_CHECK(partition.unfinished > 0, "an admitted delivery is freed once");
  partition.unfinished--;
  kept_outcomes_.Forget(slot);
  retries_.Forget(slot, delivery.partition, delivery.offset);
  delivery.ticket++;
  delivery.message = nullptr;
  delivery.carried.stage = Stage::kFresh;
  delivery.next = free_head_;
  free_head_ = slot;
  open_--;
}

}  // namespace oncemq
