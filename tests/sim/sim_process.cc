// SPDX-License-Identifier: Apache-2.0
#include "sim_process.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "oncemq/base/hash.h"

namespace oncemq::sim {
namespace {

constexpr uint64_t kScope = 42;
constexpr uint64_t kSource = 77;
constexpr Micros kNever = std::numeric_limits<Micros>::max();

CoreOptions OptionsOf(const Config& c) {
  return {.order = OrderOf(c),
          .in_flight = static_cast<uint32_t>(c.in_flight),
          .in_flight_bytes = static_cast<uint64_t>(c.in_flight_bytes),
          .partition_credit = static_cast<uint32_t>(c.partition_credit),
          .span = static_cast<uint32_t>(c.span),
          .run = static_cast<uint32_t>(c.run),
          .lane_run = static_cast<uint32_t>(c.lane_run),
          .commit_interval = microseconds(c.commit_interval),
          .session_timeout = microseconds(c.session),
          .session_margin = microseconds(c.margin),
          .store_retry = microseconds(c.store_retry),
          .scope = kScope};
}

int64_t BitsOf(const Settlement& s) {
  return static_cast<int64_t>(s.stage) | (s.handled ? kHandledBit : 0) |
         (s.same_delivery ? kSameDeliveryBit : 0) | (s.attached ? kAttachedBit : 0) |
         (s.conflict ? kConflictBit : 0);
}

}  // namespace

SimProcess::SimProcess(ActorId actor, Surroundings& world, std::shared_ptr<SimWindow> window)
    : actor_(actor),
      world_(world),
      window_(std::move(window)),
      rng_(static_cast<uint64_t>(world.config.seed) * 31 + actor, "process"),
      core_(OptionsOf(world.config)),
      member_(actor, world, *this),
      partitions_(world.log.partitions.size()) {
  for (int64_t i = 0; i < world.config.workers; i++) {
    workers_.push_back(
        std::make_unique<SimWorker>(actor, static_cast<uint32_t>(i), world, *this, window_));
  }
}

SimProcess::~SimProcess() = default;

void SimProcess::Note(Op op, int32_t partition, int64_t value, bool flag) {
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = op,
                         .flag = flag,
                         .partition = partition,
                         .epoch = core_.Status(CoreId(partition)).epoch,
                         .value = value});
}

void SimProcess::Start() {
  world_.history.Append({.time = world_.loop.now(), .process = actor_, .op = Op::kStart});
  member_.Start();
}

void SimProcess::Close() {
  member_.Close();
}

void SimProcess::OnLeft() {
  world_.left(actor_);
}

void SimProcess::OnAssigned(int32_t partition, uint32_t term) {
  Partition& state = At(partition);
  state.assigned = true;
  state.term = term;
  AskCommitted(partition, ++state.number);
}

void SimProcess::AskCommitted(int32_t partition, uint64_t number) {
  world_.network.ToBroker(actor_, [this, partition, number, actor = actor_, &world = world_] {
    const CommittedPosition committed = world.broker.Committed(partition);
    const LogBounds bounds = world.broker.Bounds(partition, world.loop.now());
    world.network.ToClient(actor, [this, partition, number, committed, bounds] {
      if (At(partition).number == number && At(partition).assigned && !At(partition).in_core) {
        Assign(partition, committed, bounds);
      }
    });
  });
  world_.loop.Plan(actor_, world_.config.call_timeout, [this, partition, number] {
    if (At(partition).number == number && At(partition).assigned && !At(partition).in_core) {
      AskCommitted(partition, number);
    }
  });
}

void SimProcess::Assign(int32_t partition, const CommittedPosition& committed,
                        const LogBounds& bounds) {
  const AssignRules rules{.scope = kScope, .source_identity = kSource, .fresh_start = bounds.start};
  auto resolved = ResolveAssignment(committed, bounds, rules);
  if (!resolved) {
    world_.incident("assignment refused: " + resolved.error().message);
    return;
  }
  Partition& state = At(partition);
  AssignFacts& facts = resolved->facts;
  facts.partition = partition;
  if (!committed.offset) {
    // An operator's list of skipped ranges, far below: it leaves less room for the map.
    for (int64_t at = 0; static_cast<int64_t>(MapBudget(facts.metadata)) > world_.config.map_room;
         at += 3) {
      facts.metadata.skipped.Append(at, at + 1);
    }
  }
  state.in_core = true;
  state.stopped = false;
  state.start = state.position = facts.start;
  for (const auto& worker : workers_) {
    world_.sometimes.Count(Situation::kReturnedWhileRunning, worker->Handles(partition));
  }
  const int64_t from = world_.history.AddCommit({facts.start, facts.metadata, committed.metadata});
  core_.Assign(CoreId(partition), facts, world_.loop.boot());
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kAssign,
                         .partition = partition,
                         .epoch = core_.Status(CoreId(partition)).epoch,
                         .term = state.term,
                         .offset = facts.start,
                         .value = from});
  WakeIn(1);
}

void SimProcess::StopRunsOf(int32_t partition) {
  for (const auto& worker : workers_) {
    worker->StopRunOf(partition);
  }
}

void SimProcess::OnRevoke(const std::vector<int32_t>& partitions) {
  for (const int32_t partition : partitions) {
    Partition& state = At(partition);
    state.assigned = false;
    if (!state.in_core) {
      member_.GaveBack(partition);
      continue;
    }
    const Micros deadline = world_.loop.now() + world_.config.drain;
    Note(Op::kRevoke, partition, deadline);
    for (const auto& worker : workers_) {
      world_.sometimes.Count(Situation::kRevokedInHandler, worker->Handles(partition));
    }
    StopRunsOf(partition);
    core_.Revoke(CoreId(partition), world_.loop.ToBoot(deadline), world_.loop.boot());
  }
  WakeIn(1);
}

void SimProcess::OnLost(const std::vector<int32_t>& partitions) {
  for (const int32_t partition : partitions) {
    Lose(partition);
  }
  WakeIn(1);
}

void SimProcess::Lose(int32_t partition) {
  Partition& state = At(partition);
  state.assigned = false;
  if (!state.in_core) {
    return;
  }
  state.in_core = false;
  Note(Op::kLost, partition);
  for (const auto& worker : workers_) {
    world_.sometimes.Count(Situation::kLostInHandler, worker->Handles(partition));
  }
  StopRunsOf(partition);
  core_.Lost(CoreId(partition), world_.loop.boot());
}

void SimProcess::Rewind(int32_t partition, int64_t back) {
  Partition& state = At(partition);
  if (state.in_core && state.assigned && state.position > state.start) {
    state.position = std::max(state.start, state.position - back);
    WakeIn(1);
  }
}

bool SimProcess::Stale(const DeliveryFacts& delivery) const {
  const PartitionStatus status = core_.Status(CoreId(delivery.partition));
  return status.phase == PartitionPhase::kNone || status.epoch != delivery.epoch;
}

bool SimProcess::Draining() const {
  for (size_t p = 0; p < partitions_.size(); p++) {
    if (core_.Status(static_cast<PartitionId>(p)).phase == PartitionPhase::kDraining) {
      return true;
    }
  }
  return false;
}

bool SimProcess::Quiet(int32_t partition) const {
  const PartitionStatus status = core_.Status(CoreId(partition));
  const Partition& state = partitions_[static_cast<size_t>(partition)];
  if (!state.in_core) {
    return status.counts.open == 0;
  }
  if (state.stopped) {
    return core_.running() == 0;
  }
  return status.counts.open == 0 && status.committed == status.frontier;
}

void SimProcess::NoteEnd() {
  ReleaseMessages();
  const int64_t number = world_.history.AddCounts(core_.Counts());
  world_.history.Append(
      {.time = world_.loop.now(), .process = actor_, .op = Op::kCounts, .value = number});
}

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
    next = world_.loop.FromBoot(*timer);
    urgent_ = next <= now ? urgent_ + 1 : 0;
    if (urgent_ > 3) {
      world_.incident("the core asks again and again for a moment that has passed");
      next = now + kSecond;
    }
    next = std::max(next, now + 1);
  }
  for (size_t p = 0; p < partitions_.size(); p++) {
    const PartitionLog& log = world_.log.partitions[p];
    const size_t index = log.Find(partitions_[p].position);
    if (partitions_[p].in_core && index < log.records.size() && log.records[index].appended > now) {
      next = std::min(next, log.records[index].appended);
    }
  }
  if (next != kNever) {
    WakeIn(next - now);
  }
}

void SimProcess::Poll() {
  core_.Tick(world_.loop.boot());
  const size_t turn = rng_.Below(partitions_.size());
  for (size_t i = 0; i < partitions_.size(); i++) {
    AdmitFrom(static_cast<int32_t>((i + turn) % partitions_.size()));
  }
  TakeRuns();
  CarryOut();
  ReleaseMessages();
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
  const PartitionLog& log = world_.log.partitions[static_cast<size_t>(partition)];
  // In small batches: the credit counts bytes only up to the last one.
  const uint32_t credit = core_.Credit(CoreId(partition));
  const size_t most = std::min<size_t>(credit, kMostAdmitted);
  arrivals_.clear();
  const uint32_t epoch = core_.Status(CoreId(partition)).epoch;
  for (size_t i = log.Find(state.position); i < log.records.size(); i++) {
    const LogRecord& record = log.records[i];
    if (record.appended > world_.loop.now()) {
      break;
    }
    if (arrivals_.size() == most) {
      const bool bytes =
          core_.unfinished_bytes() >= static_cast<uint64_t>(world_.config.in_flight_bytes);
      world_.sometimes.Count(Situation::kBytesExhausted, credit == 0 && bytes);
      world_.sometimes.Count(Situation::kCreditExhausted, credit == 0 && !bytes);
      if (credit > most) {
        WakeIn(50);
      }
      break;
    }
    const uint32_t delivery =
        world_.history.AddDelivery({actor_, partition, epoch, record.offset, record.id, record.key,
                                    record.bytes, record.payload});
    auto message = std::make_unique<SimMessage>();
    message->delivery = delivery;
    Arrival arrival{.message = message.get(), .offset = record.offset, .bytes = record.bytes};
    if (PlacementOf(world_.config) != Placement::kNone) {
      message->id = world_.log.ids[record.id];
      arrival.id = message->id;
      arrival.id_hash = ProcessHash(message->id);
      arrival.fingerprint = record.payload + 1;
    }
    if (IsMalformed(world_.config, record.id)) {
      arrival.refusal = "it has no id";
      arrival.id = {};
      arrival.id_hash = 0;
    }
    if (record.key != kNoKey) {
      arrival.key_hash = ProcessHash("k" + std::to_string(record.key));
    }
    arrivals_.push_back(arrival);
    messages_[delivery] = std::move(message);
    state.position = record.offset + 1;
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kAdmit,
                           .partition = partition,
                           .epoch = epoch,
                           .offset = record.offset,
                           .delivery = delivery,
                           .id = record.id,
                           .own = core_.Status(CoreId(partition)).own});
  }
  if (!arrivals_.empty()) {
    core_.Admit(CoreId(partition), arrivals_);
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kBounds,
                           .partition = partition,
                           .value = core_.unfinished(),
                           .aux = static_cast<int64_t>(core_.unfinished_bytes())});
  }
}

void SimProcess::TakeRuns() {
  for (const auto& worker : workers_) {
    // A shell may ask for less than a whole run.
    const int64_t limit = rng_.Chance(100) ? rng_.Between(1, 5) : world_.config.run;
    if (worker->idle() && core_.TakeRun(run_, world_.loop.boot(), static_cast<uint32_t>(limit))) {
      worker->Begin(run_);
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
    world_.sometimes.Count(Situation::kStaleApplied, stale && settlement.fate == Fate::kApplied);
    world_.sometimes.Count(Situation::kRetried, settlement.fate == Fate::kRetry);
    world_.sometimes.Count(Situation::kOwnLost, !stale && settlement.fate == Fate::kOwnLost);
  }
  core_.Settle(settlements, world_.loop.boot());
  CarryOut();
  ReleaseMessages();
  WakeIn(rng_.Between(1, 300));
}

void SimProcess::ReleaseMessages() {
  released_.clear();
  core_.TakeReleased(released_);
  for (void* released : released_) {
    const uint32_t delivery = static_cast<const SimMessage*>(released)->delivery;
    world_.history.Append(
        {.time = world_.loop.now(), .process = actor_, .op = Op::kGone, .delivery = delivery});
    messages_.erase(delivery);
  }
}

}  // namespace oncemq::sim
