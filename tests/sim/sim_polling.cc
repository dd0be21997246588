// SPDX-License-Identifier: Apache-2.0
// What a process does again and again: admit within the credit, hand runs to workers, take outcomes
// back.
#include <algorithm>
#include <limits>
#include <utility>

#include "oncemq/base/hash.h"
#include "sim_process.h"

namespace oncemq::sim {
namespace {

constexpr Micros kNever = std::numeric_limits<Micros>::max();

int64_t BitsOf(const Settlement& s) {
  return static_cast<int64_t>(s.stage) | (s.handled ? kHandledBit : 0) |
         (s.same_delivery ? kSameDeliveryBit : 0) | (s.attached ? kAttachedBit : 0) |
         (s.conflict ? kConflictBit : 0) | (s.unprotected ? kUnprotectedBit : 0) |
         (s.alone ? kAloneBit : 0);
}

}  // namespace

// One poll is planned at a time, the earliest that anybody asked for.
void SimProcess::WakeIn(Micros delay) {
  const Micros at = world_.loop.now() + delay;
  if (poll_at_ != 0 && poll_at_ <= at) {
    return;
  }
  poll_at_ = at;
  world_.loop.Plan(actor_, delay, [this, number = ++poll_number_] {
    if (number == poll_number_) {
      poll_at_ = 0;
      Poll();
    }
  });
}

void SimProcess::PlanNextPoll() {
  const Micros now = world_.loop.now();
  Micros next = kNever;
  if (const auto timer = core_.NextTimer()) {
    next = clock_.FromBoot(*timer);
    urgent_ = next <= now ? urgent_ + 1 : 0;
    if (urgent_ > 3) {
      world_.incident("the core asks again and again for a moment that has passed");
      next = now + kSecond;
    }
    next = std::max(next, now + 1);
  }
  for (size_t p = 0; p < partitions_.size(); p++) {
    const LogRecord* record = NextIn(static_cast<int32_t>(p));
    if (partitions_[p].in_core && record != nullptr && record->appended > now) {
      next = std::min(next, record->appended);
    }
  }
  if (next != kNever) {
    WakeIn(next - now);
  }
}

void SimProcess::Poll() {
  core_.Tick(clock_.Boot());
  const size_t turn = rng_.Below(partitions_.size());
  for (size_t i = 0; i < partitions_.size(); i++) {
    AdmitFrom(static_cast<int32_t>((i + turn) % partitions_.size()));
  }
  TakeBatches();
  RenewOwed();
  CarryOut();
  ReleaseMessages();
  CloseStores();
  if (!core_.Counts().Balanced()) {
    world_.incident("deliveries are not the sum of their outcomes");
  }
  PlanNextPoll();
}

void SimProcess::AdmitFrom(int32_t partition) {
  Partition& state = At(partition);
  if (!state.in_core || world_.network.IsCut(actor_)) {
    return;
  }
  uint32_t credit = core_.Credit(CoreId(partition));
  if (Parks(world_.config) && credit > 0 && !redrives_.Known(partition, core_)) {
    return;
  }
  const bool behind = catch_up_ && catch_up_->Busy(CoreId(partition));
  if (behind && credit > 0 &&
      catch_up_->Waits(CoreId(partition), core_.Status(CoreId(partition)).owner_epoch,
                       clock_.Boot(), caught_up_)) {
    WakeIn(20 * kMilli);
    return DropCaughtUp();
  }
  if (behind && (CatchUpOverdue(partition) || !FollowLogStart(partition))) {
    return;
  }
  if (Parks(world_.config) && !behind && credit > 0) {
    AdmitRedriven(partition);
    credit = core_.Credit(CoreId(partition));
  }
  const PartitionStatus status = core_.Status(CoreId(partition));
  // In small batches: the credit counts bytes only up to the last one.
  const size_t most = std::min<size_t>(credit, kMostAdmitted);
  arrivals_.clear();
  if (behind) {
    catch_up_->GiveBehind(CoreId(partition), static_cast<uint32_t>(most), arrivals_);
  }
  if (!arrivals_.empty()) {
    WakeIn(50);
  } else if (Collect(partition, most)) {
    const bool bytes = core_.load().bytes >= static_cast<uint64_t>(world_.config.in_flight_bytes);
    world_.sometimes.Count(Situation::kBytesExhausted, credit == 0 && bytes);
    world_.sometimes.Count(Situation::kCreditExhausted, credit == 0 && !bytes);
    if (credit > most || (behind && credit > 0)) {
      WakeIn(50);
    }
  }
  if (arrivals_.empty() && credit > 0) {
    PassHole(partition, status, behind);
  }
  if (behind && !arrivals_.empty()) {
    catch_up_->Take(CoreId(partition), status.owner_epoch, arrivals_, clock_.Boot(), caught_up_);
    DropCaughtUp();
    WakeIn(50);
  }
  if (!arrivals_.empty()) {
    for (const Arrival& arrival : arrivals_) {
      NoteAdmitted(*static_cast<SimMessage*>(arrival.message), partition, false);
    }
    const Load waited = AllThatWaits();
    core_.Admit(CoreId(partition), arrivals_);
    NoteBounds(partition, waited, status.waiting);
  }
}

SimProcess::Load SimProcess::AllThatWaits() const {
  Load all;
  for (size_t p = 0; p < partitions_.size(); p++) {
    const PartitionStatus status = core_.Status(static_cast<PartitionId>(p));
    all.messages += status.waiting;
    all.bytes += static_cast<int64_t>(status.waiting_bytes);
  }
  return all;
}

void SimProcess::NoteBounds(int32_t partition, const Load& waited, int64_t waited_here) {
  const auto bytes = static_cast<int64_t>(core_.load().bytes);
  Record record{.time = world_.loop.now(), .process = actor_, .op = Op::kBounds};
  record.partition = partition;
  record.value = core_.load().unfinished - waited.messages;
  record.aux = bytes - waited.bytes;
  world_.history.Append(record);
  record.flag = true;
  record.value = waited_here;
  world_.history.Append(record);
}

// All that is in the log by now was read.
void SimProcess::PassHole(int32_t partition, const PartitionStatus& status, bool behind) {
  const PartitionLog& log = world_.log.partitions[static_cast<size_t>(partition)];
  const int64_t end = log.EndAt(world_.loop.now());
  if (behind) {
    catch_up_->ReadTo(CoreId(partition), end, clock_.Boot());
  }
  core_.ReadTo(CoreId(partition), end);
  world_.sometimes.Count(Situation::kHolePassed, end > status.next_offset);
}

// Reads at most so many into arrivals_. True: there was more.
bool SimProcess::Collect(int32_t partition, size_t most) {
  Partition& state = At(partition);
  while (const LogRecord* record = NextIn(partition)) {
    if (record->appended > world_.loop.now()) {
      return false;
    }
    if (arrivals_.size() == most) {
      return true;
    }
    if (world_.broker.Has(partition, record->offset)) {
      arrivals_.push_back(Read(*record));
    }
    state.position = record->offset + 1;
  }
  return false;
}

const LogRecord* SimProcess::NextIn(int32_t partition) const {
  const Partition& state = partitions_[static_cast<size_t>(partition)];
  const PartitionLog& log = world_.log.partitions[static_cast<size_t>(partition)];
  const auto next = [&](const std::vector<LogRecord>& records) -> const LogRecord* {
    const auto found = std::lower_bound(
        records.begin(), records.end(), state.position,
        [](const LogRecord& record, int64_t wanted) { return record.offset < wanted; });
    return found == records.end() ? nullptr : &*found;
  };
  return next(log.records);
}

// What is to be read below the start may go from the log meanwhile (rule 6). False: the partition
// stands still.
bool SimProcess::FollowLogStart(int32_t partition) {
  Partition& state = At(partition);
  const int64_t to = std::min(world_.broker.LogStart(partition), state.start);
  if (state.position >= to) {
    return true;
  }
  world_.sometimes.Count(Situation::kOvertaken);
  const int64_t from = std::exchange(state.position, to);
  catch_up_->Gap(CoreId(partition), from, to, clock_.Boot());
  NotRead(partition, from, to);
  const bool goes_on = !stores_ || world_.config.run_incomplete != 0;
  if (!goes_on) {
    StopIncomplete(partition);
  }
  return goes_on;
}

// True: nothing is read now.
bool SimProcess::CatchUpOverdue(int32_t partition) {
  const milliseconds most(world_.config.catch_up_time / kMilli);
  if (!catch_up_->Overdue(CoreId(partition), clock_.Boot(), most)) {
    return false;
  }
  world_.sometimes.Count(Situation::kOverdue);
  if (stores_ && world_.config.run_incomplete == 0) {
    StopIncomplete(partition);
    return true;
  }
  const auto [from, to] = catch_up_->PassOver(CoreId(partition));
  NotRead(partition, from, to);
  WakeIn(50);
  return true;
}

void SimProcess::NotRead(int32_t partition, int64_t from, int64_t to) {
  if (stores_) {
    stores_->RaiseFrom(CoreId(partition), to);
  }
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kNotRead,
                         .partition = partition,
                         .offset = from,
                         .value = to});
}

void SimProcess::StopIncomplete(int32_t partition) {
  catch_up_->Halt(CoreId(partition));
  At(partition).stopped = true;
  Refused(partition, At(partition).start);
}

Arrival SimProcess::Read(const LogRecord& record) {
  auto owned = std::make_unique<SimMessage>();
  SimMessage& message = *owned;
  message.record = &record;
  messages_[&message] = std::move(owned);
  Arrival arrival{.message = &message, .offset = record.offset, .bytes = record.bytes};
  if (PlacementOf(world_.config) != Placement::kNone) {
    message.id = world_.log.ids[record.id];
    arrival.id = message.id;
    arrival.id_hash = world_.config.collide != 0 ? 1 : ProcessHash(message.id);
    arrival.fingerprint = record.payload + 1;
  }
  if (HasStores(world_.config)) {
    const Micros began = world_.loop.clock().Wall().micros - world_.loop.now();
    arrival.time = LogTime(milliseconds((began + record.stamp) / 1000));
  }
  if (IsMalformed(world_.config, record.id)) {
    arrival.refusal = Passes(world_.config, record.id) ? nullptr : "it has no id";
    arrival.id = {};
    arrival.id_hash = 0;
    arrival.fingerprint = 0;
  }
  if (record.key != kNoKey) {
    arrival.key_hash = KeyHash(record.key);
  }
  return arrival;
}

// A message becomes a delivery when the core gets it.
void SimProcess::NoteAdmitted(SimMessage& message, int32_t partition, bool dropped) {
  const PartitionStatus status = core_.Status(CoreId(partition));
  const LogRecord& record = *message.record;
  message.delivery = world_.history.AddDelivery({actor_, partition, status.epoch, record.offset,
                                                 record.id, record.key, record.bytes,
                                                 record.payload, message.redriven != 0, dropped});
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kAdmit,
                         .flag = message.redriven != 0,
                         .partition = partition,
                         .epoch = status.epoch,
                         .offset = record.offset,
                         .delivery = message.delivery,
                         .id = record.id,
                         .owner_epoch = status.owner_epoch});
}

// In pieces, so that live messages go on between them.
void SimProcess::AdmitRedriven(int32_t partition) {
  const PartitionLog& log = world_.log.partitions[static_cast<size_t>(partition)];
  const auto most = std::min<size_t>(core_.Credit(CoreId(partition)),
                                     static_cast<size_t>(rng_.Between(1, kMostAdmitted)));
  std::vector<SimRedrives::Due> due;
  redrives_.Read(partition, most, core_, due);
  if (due.empty()) {
    return;
  }
  std::vector<RedrivenArrival> arrivals;
  for (const SimRedrives::Due& one : due) {
    RedrivenArrival& arrival = arrivals.emplace_back();
    static_cast<Arrival&>(arrival) = Read(log.records[log.Find(one.offset)]);
    arrival.drop = one.drop;
    arrival.first = one.first;
    arrival.called = one.called;
    arrival.begun = one.begun;
    auto& message = *static_cast<SimMessage*>(arrival.message);
    message.redriven = one.owner;
    NoteAdmitted(message, partition, one.drop);
  }
  const Load waited = AllThatWaits();
  const int64_t waited_here = core_.Status(CoreId(partition)).waiting;
  core_.AdmitRedriven(CoreId(partition), arrivals);
  NoteBounds(partition, waited, waited_here);
}

void SimProcess::EndCatchUp(int32_t partition) {
  if (catch_up_) {
    catch_up_->End(CoreId(partition), caught_up_);
    DropCaughtUp();
  }
}

// What the catch-up has released never was a delivery.
void SimProcess::DropCaughtUp() {
  for (void* message : caught_up_) {
    messages_.erase(message);
  }
  caught_up_.clear();
}

// As the poll loop does: claims whose completion is owed, twice as often as those of a run.
void SimProcess::RenewOwed() {
  const Micros every = world_.config.lease / 6;
  if (world_.config.renew == 0 || world_.loop.now() < owed_renewed_at_ + every) {
    return;
  }
  owed_renewed_at_ = world_.loop.now();
  std::vector<HeldClaim> claims;
  core_.FindOwedClaims(claims);
  std::vector<RenewRequest> requests;
  for (const HeldClaim& claim : claims) {
    requests.push_back({claim.id, {actor_, claim.token.attempt}, claim.at});
  }
  if (!requests.empty()) {
    window_->Renew(actor_, requests, [](const Status&, const std::vector<MarkerChange>&) {});
  }
}

void SimProcess::TakeBatches() {
  for (const auto& worker : workers_) {
    // A shell may ask for less than a whole run.
    const int64_t limit = rng_.Chance(100) ? rng_.Between(1, 5) : world_.config.batch;
    if (worker->idle() && core_.TakeBatch(batch_, clock_.Boot(), static_cast<uint32_t>(limit))) {
      worker->Begin(batch_);
    }
  }
}

void SimProcess::Settled(SimWorker& worker) {
  const std::vector<uint32_t> taken = worker.taken();
  worker.End();
  Settle(taken, worker.settlements());
}

void SimProcess::Settle(std::span<const uint32_t> deliveries, std::span<Settlement> settlements) {
  for (size_t i = 0; i < deliveries.size(); i++) {
    const Settlement& settlement = settlements[i];
    const DeliveryFacts& facts = world_.history.delivery(deliveries[i]);
    const bool stale = Stale(facts);
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kSettle,
                           .flag = settlement.uncertain,
                           .partition = facts.partition,
                           .epoch = facts.epoch,
                           .offset = facts.offset,
                           .delivery = deliveries[i],
                           .id = facts.id,
                           .token = settlement.token,
                           .value = static_cast<int64_t>(settlement.fate),
                           .aux = BitsOf(settlement)});
    world_.sometimes.Count(Situation::kStaleSettlement, stale);
    world_.sometimes.Count(Situation::kStaleApplied,
                           stale && settlement.fate == DeliveryFate::kApplied);
    world_.sometimes.Count(Situation::kPassed,
                           settlement.fate == DeliveryFate::kApplied && settlement.unprotected);
    world_.sometimes.Count(Situation::kRetried, settlement.fate == DeliveryFate::kRetry);
    world_.sometimes.Count(Situation::kSpoiled, settlement.alone);
    world_.sometimes.Count(Situation::kOwnershipLost,
                           !stale && settlement.fate == DeliveryFate::kOwnershipLost);
  }
  core_.Settle(settlements, clock_.Boot());
  CarryOut();
  ReleaseMessages();
  WakeIn(rng_.Between(1, 300));
}

void SimProcess::ReleaseMessages() {
  released_.clear();
  core_.TakeReleased(released_);
  for (void* released : released_) {
    const auto& message = *static_cast<const SimMessage*>(released);
    const uint32_t delivery = message.delivery;
    if (message.redriven != 0) {
      const DeliveryFacts& facts = world_.history.delivery(delivery);
      redrives_.TakeBack(facts.partition, facts.offset, message.redriven);
    }
    world_.history.Append(
        {.time = world_.loop.now(), .process = actor_, .op = Op::kGone, .delivery = delivery});
    messages_.erase(released);
  }
}

}  // namespace oncemq::sim
