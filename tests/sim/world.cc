// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <utility>

#include "memory_window_engine.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/memory_window.h"
#include "reference_window.h"
#include "sim_stores.h"

namespace oncemq::sim {
namespace {

// A run that does this much without an end goes round in circles.
constexpr uint64_t kMaxSteps = 500'000;

// Without faults for processes and partitions that there are not.
Config Fitting(Config config) {
  std::erase_if(config.faults, [&](const Fault& fault) {
    return fault.slot >= config.processes || fault.partition >= config.partitions;
  });
  return config;
}

}  // namespace

World::World(const Config& config)
    : config_(Fitting(config)),
      log_(BuildLog(config)),
      broker_(config_, log_, loop_, history_),
      target_(config_, loop_, history_),
      network_(config_, loop_),
      journal_(config_, loop_, history_),
      park_(config_, log_, loop_, history_, sometimes_),
      calls_(log_.ids.size(), 0),
      surroundings_{.config = config_,
                    .log = log_,
                    .loop = loop_,
                    .history = history_,
                    .sometimes = sometimes_,
                    .broker = broker_,
                    .target = target_,
                    .network = network_,
                    .journal = journal_,
                    .park = park_,
                    .calls = calls_},
      slots_(static_cast<size_t>(config.processes)) {
  SeedProcessHash(static_cast<uint64_t>(config.seed));
  for (size_t i = 0; i < log_.ids.size(); i++) {
    id_numbers_[log_.ids[i]] = static_cast<uint32_t>(i);
  }
  surroundings_.at_step = [this](ActorId actor, BatchStep step) { return AtStep(actor, step); };
  surroundings_.inside_step = [this](ActorId actor, BatchStep step) { InsideStep(actor, step); };
  surroundings_.kill = [this](ActorId actor) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                   [&](const Slot& each) { return each.actor == actor; });
    Crash(static_cast<size_t>(slot - slots_.begin()), 200 * kMilli);
  };
  surroundings_.left = [this](ActorId actor) { End(actor, false); };
  surroundings_.incident = [this](const std::string& what) { Incident(what); };
  loop_.before_actor = [this](ActorId actor) { BeforeEvent(actor); };
  surroundings_.refused = [this](int32_t partition) {
    repairs_++;
    loop_.Plan(kWorld, 300 * kMilli, [this, partition] { Repair(partition); });
  };
  for (size_t i = 0; HasStores(config_) && i < (config_.hosts == 0 ? 1 : slots_.size()); i++) {
    disks_.emplace_back(log_.partitions.size(), static_cast<uint64_t>(config_.seed) + 7919 * i);
  }
  if (PlacementOf(config_) == Placement::kShared) {
    shared_window_ = WindowFor(OpenEngine(loop_.clock()), true);
  }
}

World::~World() = default;

std::unique_ptr<Window> World::OpenEngine(const Clock& clock) {
  const MemoryWindowOptions options{.level = LevelOf(config_),
                                    .partition_owned = false,
                                    .times = TimesOf(config_),
                                    .remember = static_cast<uint32_t>(config_.remember),
                                    .max_open = 100'000};
  auto engine = OpenMemoryWindow(options, clock);
  if (!engine) {
    Incident("the memory window does not open: " + engine.error().message);
  } else if (config_.collide != 0) {
    engine = std::unique_ptr<Window>(std::make_unique<MemoryWindow>(
        options, clock, [](std::string_view) { return uint64_t{1}; }));
  }
  auto reference = std::make_unique<ReferenceWindow>(LevelOf(config_), TimesOf(config_), clock);
  return std::make_unique<CheckedWindow>(std::move(*engine), std::move(reference),
                                         config_.remember < kForgetsNothing,
                                         [this](const std::string& what) { Incident(what); });
}

std::unique_ptr<Window> World::OpenStores(ActorId actor, size_t slot, const Clock& clock) {
  return std::make_unique<SimStores>(
      actor, DiskOf(slot),
      StoreTools{.config = config_,
                 .clock = clock,
                 .sometimes = sometimes_,
                 .healed = surroundings_.healed,
                 .took_effect =
                     [this, actor](const CompleteRequest& request) { NoteEffect(actor, request); },
                 .later = [this, actor](
                              EventLoop::Body body) { loop_.Plan(actor, kMilli, std::move(body)); },
                 .dies_forgetting =
                     [this, actor](int32_t partition, ForgetStep step) {
                       return DiesForgetting(actor, partition, step);
                     },
                 .incident = [this](const std::string& what) { Incident(what); }});
}

// At the level atomic the store is the target.
void World::NoteEffect(ActorId actor, const CompleteRequest& request) {
  const uint32_t delivery = surroundings_.handled[{request.token.process, request.token.attempt}];
  const DeliveryFacts& facts = history_.delivery(delivery);
  history_.Append({.time = loop_.now(),
                   .process = actor,
                   .op = Op::kEffect,
                   .phase = Phase::kOk,
                   .partition = facts.partition,
                   .epoch = facts.epoch,
                   .offset = facts.offset,
                   .delivery = delivery,
                   .id = facts.id,
                   .owner_epoch = 1});
}

std::shared_ptr<SimWindow> World::WindowFor(std::unique_ptr<Window> engine, bool shared) {
  return std::make_shared<SimWindow>(config_, loop_, history_, sometimes_, id_numbers_,
                                     std::move(engine), shared);
}

void World::Incident(const std::string& what) {
  incidents_.push_back(what);
}

World::Slot* World::SlotOf(ActorId actor) {
  for (Slot& slot : slots_) {
    if (slot.actor == actor && actor != kWorld) {
      return &slot;
    }
  }
  return nullptr;
}

void World::StartIn(size_t index) {
  Slot& slot = slots_[index];
  if (slot.actor != kWorld || !slot.wanted || resetting_) {
    return;
  }
  slot.actor = next_actor_++;
  clocks_.push_back(std::make_unique<ProcessClock>(config_, loop_, slot.actor));
  const ProcessClock& clock = *clocks_.back();
  auto window = shared_window_;
  if (PlacementOf(config_) == Placement::kPerProcess) {
    window = WindowFor(OpenEngine(clock), false);
  } else if (HasStores(config_)) {
    window = WindowFor(OpenStores(slot.actor, index, clock), false);
  }
  slot.process = std::make_unique<SimProcess>(slot.actor, surroundings_, clock, std::move(window));
  slot.process->Start();
}

// The object goes in an event of its own: its code may be running right now.
void World::End(ActorId actor, bool crash) {
  Slot* slot = SlotOf(actor);
  if (slot == nullptr) {
    return;
  }
  sometimes_.Count(Situation::kCrashInDrain, crash && slot->process->Draining());
  slot->process->NoteEnd();
  history_.Append({.time = loop_.now(), .process = actor, .op = Op::kCrash, .flag = crash});
  loop_.Kill(actor);
  for (SimDisk& disk : disks_) {
    disk.Died(actor);
  }
  slot->actor = kWorld;
  auto gone = std::make_shared<std::unique_ptr<SimProcess>>(std::move(slot->process));
  loop_.Plan(kWorld, 0, [gone] { gone->reset(); });
  const auto index = static_cast<size_t>(slot - slots_.data());
  loop_.Plan(kWorld, std::max<Micros>(slot->restart, 1), [this, index] { StartIn(index); });
}

void World::Crash(size_t index, Micros restart) {
  Slot& slot = slots_[index];
  if (slot.actor != kWorld) {
    slot.restart = restart;
    End(slot.actor, true);
  }
}

void World::BeforeEvent(ActorId actor) {
  if (events_.size() <= actor) {
    events_.resize(actor + 1, 0);
  }
  const auto number = static_cast<int64_t>(events_[actor]++);
  // Faults by event strike the first process of their slot only.
  if (actor > slots_.size()) {
    return;
  }
  for (const Fault& fault : config_.faults) {
    if (fault.event == number && fault.slot + 1 == static_cast<int64_t>(actor)) {
      Strike(fault, actor - 1);
    }
  }
}

bool World::AtStep(ActorId actor, BatchStep step) {
  for (Fault& fault : armed_) {
    const Slot& slot = slots_[static_cast<size_t>(fault.slot)];
    if (fault.kind == FaultKind::kCrashAtStep && slot.actor == actor &&
        fault.value == static_cast<int64_t>(step)) {
      fault.kind = FaultKind::kCount;
      sometimes_.CrashAt(step, false);
      Crash(static_cast<size_t>(fault.slot), 200 * kMilli);
      return true;
    }
  }
  return false;
}

void World::InsideStep(ActorId actor, BatchStep step) {
  for (Fault& fault : armed_) {
    const Slot& slot = slots_[static_cast<size_t>(fault.slot)];
    if (fault.kind == FaultKind::kCrashInStep && slot.actor == actor &&
        fault.value == static_cast<int64_t>(step)) {
      fault.kind = FaultKind::kCount;
      sometimes_.CrashAt(step, true);
      Crash(static_cast<size_t>(fault.slot), 200 * kMilli);
    }
  }
}

bool World::Drained() const {
  if ((replay_ != nullptr && !replay_->ended()) || repairs_ > 0 || resetting_) {
    return false;
  }
  for (size_t p = 0; p < log_.partitions.size(); p++) {
    const PartitionLog& log = log_.partitions[p];
    const int64_t last = log.records.empty() ? log.start : log.records.back().offset + 1;
    const auto partition = static_cast<int32_t>(p);
    const CommittedPosition committed = broker_.Committed(partition);
    bool done = committed.offset && *committed.offset >= last && park_.Empty(partition);
    bool assigned = false;
    for (const Slot& slot : slots_) {
      if (slot.process == nullptr || !slot.process->Quiet(partition)) {
        return false;
      }
      const bool owns = slot.actor == broker_.owner(partition);
      done |= owns && slot.process->Stopped(partition);
      assigned |= owns && slot.process->Assigned(partition);
    }
    // Only who opens a store finds out whether it is still what the commit rests on.
    done &= assigned || !HasStores(config_);
    if (!done) {
      return false;
    }
  }
  return true;
}

void World::WatchForEnd() {
  loop_.Plan(kWorld, 20 * kMilli, [this] {
    drained_ = Drained();
    if (!drained_) {
      WatchForEnd();
    }
  });
}

RunResult World::Run() {
  for (size_t i = 0; i < slots_.size(); i++) {
    StartIn(i);
  }
  if (config_.replay > 0 && shared_window_ != nullptr) {
    replay_ = std::make_unique<SimReplay>(next_actor_++, surroundings_, shared_window_);
    replay_->Start();
  }
  if (Parks(config_)) {
    park_.StartTool();
  }
  for (const Fault& fault : config_.faults) {
    if (fault.event < 0) {
      loop_.Plan(kWorld, fault.at, [this, fault] { Play(fault); });
    }
  }
  loop_.Plan(kWorld, std::max(config_.faults_until, config_.appended_over), [this] { Heal(); });
  const Micros end = config_.faults_until + config_.appended_over + config_.liveness;
  while (!drained_ && loop_.steps() < kMaxSteps && loop_.Step(end)) {
  }
  for (const Slot& slot : slots_) {
    if (slot.process != nullptr) {
      slot.process->NoteEnd();
    }
  }
  if (drained_) {
    history_.Append({.time = loop_.now(), .op = Op::kDrained});
    if (shared_window_ != nullptr) {
      shared_window_->ReportOpenClaims();
    }
  }
  std::vector<StoreState> stores;
  for (SimDisk& disk : disks_) {
    for (const SimStoreFile& store : disk.stores()) {
      stores.push_back(store.now());
    }
  }
  RunResult result{.history = std::move(history_),
                   .log = log_,
                   .sometimes = sometimes_,
                   .incidents = incidents_,
                   .drained = drained_,
                   .ended = loop_.now(),
                   .steps = loop_.steps(),
                   .stores = std::move(stores),
                   .actor_events = events_};
  return result;
}

RunResult Simulate(const Config& config) {
  return World(config).Run();
}

}  // namespace oncemq::sim
