// SPDX-License-Identifier: Apache-2.0
#include "sim_process.h"

#include <algorithm>
#include <utility>

namespace oncemq::sim {
namespace {

constexpr uint64_t kScope = 42;
constexpr uint64_t kSource = 77;

// Whoever is given a partition finds the markers of its former owner.
bool MarkersGoAlong(const Config& c) {
  return PlacementOf(c) == Placement::kShared || (HasStores(c) && c.hosts == 0);
}

// As the product's runtime says it of its windows.
bool NamesSuspects(const Config& c) {
  return LevelOf(c) == Level::kOpaque && PlacementOf(c) != Placement::kShared &&
         PlacementOf(c) != Placement::kNone;
}

CoreOptions OptionsOf(const Config& c) {
  return {.order = OrderOf(c),
          .in_flight = static_cast<uint32_t>(c.in_flight),
          .in_flight_bytes = static_cast<uint64_t>(c.in_flight_bytes),
          .waiting = {.messages = static_cast<uint32_t>(c.waiting),
                      .bytes = static_cast<uint64_t>(c.waiting_bytes),
                      .park = c.waiting_parks != 0},
          .partition_credit = static_cast<uint32_t>(c.partition_credit),
          .span = static_cast<uint32_t>(c.span),
          .batch = static_cast<uint32_t>(c.batch),
          .lane_batch = static_cast<uint32_t>(c.lane_batch),
          .commit_interval = microseconds(c.commit_interval),
          .session_timeout = microseconds(c.session),
          .session_margin = microseconds(c.margin),
          .store_retry = microseconds(c.store_retry),
          .relies_on_map = c.pass != 0 || (LevelOf(c) == Level::kOpaque && !MarkersGoAlong(c)),
          .suspects = NamesSuspects(c),
          .refusals = {.parks = Parks(c), .deaths = static_cast<uint32_t>(c.deaths)},
          .scope = {kScope}};
}

}  // namespace

SimProcess::SimProcess(ActorId actor, Surroundings& world, const ProcessClock& clock,
                       std::shared_ptr<SimWindow> window)
    : actor_(actor),
      world_(world),
      clock_(clock),
      window_(std::move(window)),
      direct_(actor, window_),
      rng_(static_cast<uint64_t>(world.config.seed) * 31 + actor, "process"),
      core_(OptionsOf(world.config)),
      member_(actor, world, *this),
      redrives_(actor, world, [this] { WakeIn(1); }),
      partitions_(world.log.partitions.size()) {
  const bool may_be_blind =
      PlacementOf(world.config) == Placement::kPerProcess || HasStores(world.config);
  if (may_be_blind && world.config.catch_up > 0) {
    catch_up_.emplace(&direct_, store_errors_);
  }
  if (HasStores(world.config)) {
    const StoreRules rules{.level = LevelOf(world.config),
                           .catch_up = world.config.catch_up,
                           .run_incomplete = world.config.run_incomplete != 0};
    stores_.emplace(&direct_, WindowStores::Options{"group g, committed", rules}, store_errors_);
  }
  for (int64_t i = 0; i < world.config.workers; i++) {
    workers_.push_back(std::make_unique<SimWorker>(actor, static_cast<uint32_t>(i), world, clock_,
                                                   *this, window_));
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
  state.in_doubt = false;
  state.term = term;
  QueryCommitted(partition, ++state.number);
}

void SimProcess::QueryCommitted(int32_t partition, uint64_t number) {
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
      QueryCommitted(partition, number);
    }
  });
}

void SimProcess::Assign(int32_t partition, const CommittedPosition& committed,
                        const LogBounds& bounds) {
  // A person's word may stand below the log: that what is gone there is lost.
  const AssignRules rules{.scope = kScope,
                          .source_identity = kSource,
                          .fresh_start = bounds.start,
                          .resume_at_log_start = committed.metadata.empty(),
                          .suspects = NamesSuspects(world_.config)};
  auto resolved = ResolveAssignment(committed, bounds, rules);
  if (!resolved) {
    world_.incident("assignment refused: " + resolved.error().message);
    return;
  }
  Partition& state = At(partition);
  AssignFacts& facts = resolved->facts;
  facts.partition = partition;
  const int64_t log_end = world_.log.partitions[static_cast<size_t>(partition)].end;
  if (!committed.offset) {
    facts.metadata.reserved = NamesSuspects(world_.config) ? std::optional(log_end) : std::nullopt;
    // An operator's list of skipped ranges, far below: it leaves less room for the map.
    for (int64_t at = 0; static_cast<int64_t>(MapBudget(facts.metadata)) > world_.config.map_room;
         at += 3) {
      facts.metadata.skipped.Append(at, at + 1);
    }
  }
  if (stores_ && !Prepare(partition, *resolved)) {
    return;
  }
  if (!stores_ && core_.Made(CoreId(partition), facts.metadata)) {
    WindowKnowsSuspects(facts);
  }
  state.in_core = true;
  state.stopped = false;
  state.start = state.position = facts.start;
  if (catch_up_) {
    if (!stores_) {
      const int64_t known =
          catch_up_->KnownUpTo(CoreId(partition), core_.Status(CoreId(partition)).frontier);
      (void)CatchUp::Prepare(known, world_.config.catch_up, /*stop=*/false, *resolved);
    }
    if (facts.start - facts.read_from > world_.config.catch_up) {
      world_.incident("more offsets are read again than catch_up allows");
    }
    state.position = facts.read_from;
    AssignFacts read = facts;
    read.metadata.skipped = {};  // the list from above only takes room
    catch_up_->Begin(CoreId(partition), read);
  }
  for (const auto& worker : workers_) {
    world_.sometimes.Count(Situation::kReturnedWhileRunning, worker->Handles(partition));
  }
  const int64_t from = world_.history.AddCommit({facts.start, facts.metadata, committed.metadata});
  core_.Assign(CoreId(partition), facts, clock_.Boot());
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

void SimProcess::StopBatchesOf(int32_t partition) {
  for (const auto& worker : workers_) {
    worker->StopBatchOf(partition);
  }
}

void SimProcess::OnRevoke(const std::vector<int32_t>& partitions) {
  for (const int32_t partition : partitions) {
    Partition& state = At(partition);
    state.assigned = false;
    if (state.in_core) {
      Drain(partition);
    } else if (!state.in_doubt) {
      member_.GaveBack(partition);
    }
  }
  WakeIn(1);
}

void SimProcess::Drain(int32_t partition) {
  if (core_.Status(CoreId(partition)).phase == PartitionPhase::kDraining) {
    return;  // to the deadline that it has
  }
  const Micros deadline = world_.loop.now() + world_.config.drain;
  Note(Op::kRevoke, partition, deadline);
  for (const auto& worker : workers_) {
    world_.sometimes.Count(Situation::kRevokedInHandler, worker->Handles(partition));
  }
  StopBatchesOf(partition);
  core_.Revoke(CoreId(partition), clock_.ToBoot(deadline), clock_.Boot());
}

// What becomes of a commit is not known: the other partitions are drained in good order, then the
// member leaves and comes back as a new one.
void SimProcess::BeginLeaving() {
  leaving_ = true;
  member_.Refuse();
  for (size_t p = 0; p < partitions_.size(); p++) {
    partitions_[p].assigned = false;
    if (partitions_[p].in_core) {
      Drain(static_cast<int32_t>(p));
    }
  }
}

bool SimProcess::NothingHeld() const {
  return std::none_of(partitions_.begin(), partitions_.end(),
                      [](const Partition& state) { return state.in_core; });
}

void SimProcess::OnLost(const std::vector<int32_t>& partitions) {
  leaving_ = false;  // that is done now
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
  redrives_.End(partition);
  EndCatchUp(partition);
  Note(Op::kLost, partition);
  for (const auto& worker : workers_) {
    world_.sometimes.Count(Situation::kLostInHandler, worker->Handles(partition));
  }
  StopBatchesOf(partition);
  if (stores_) {
    stores_->CloseLater(CoreId(partition), clock_.ToBoot(world_.loop.now() + world_.config.drain));
  }
  core_.Lost(CoreId(partition));
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
    return core_.load().running == 0 && status.counts.open == 0;
  }
  return status.counts.open == 0 && status.committed == status.frontier;
}

void SimProcess::NoteEnd() {
  ReleaseMessages();
  const int64_t number = world_.history.AddCounts(core_.Counts());
  world_.history.Append(
      {.time = world_.loop.now(), .process = actor_, .op = Op::kCounts, .value = number});
}

}  // namespace oncemq::sim
