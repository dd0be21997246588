// SPDX-License-Identifier: Apache-2.0
// World: one simulated run. Builds everything from a Config, plays the faults, heals, and lets it
// drain.
//
// Thread safety: none; one World at a time (the process hash is seeded per run).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "history.h"
#include "sim_disk.h"
#include "sim_process.h"
#include "sim_replay.h"
#include "sim_store.h"
#include "surroundings.h"

namespace oncemq::sim {

struct RunResult {
  History history;
  Log log;
  Sometimes sometimes;
  std::vector<std::string> incidents;  // what must never happen, seen while it ran
  bool drained = false;
  Micros ended = 0;
  uint64_t steps = 0;
  std::vector<StoreState> stores;      // of each partition, host by host, as they are in the end
  std::vector<uint64_t> actor_events;  // of the first process of each slot: how many events it had
};

class World {
 public:
  explicit World(const Config& config);
  ~World();
  RunResult Run();

 private:
  struct Slot {
    ActorId actor = kWorld;  // kWorld: nobody runs here now
    std::unique_ptr<SimProcess> process;
    bool wanted = true;  // a new process starts when this one is gone
    Micros restart = 0;  // so long after
  };

  std::unique_ptr<Window> OpenEngine(const Clock& clock);
  std::shared_ptr<SimWindow> WindowFor(std::unique_ptr<Window> engine, bool shared);
  std::unique_ptr<Window> OpenStores(ActorId actor, size_t slot, const Clock& clock);
  SimDisk& DiskOf(size_t slot) { return disks_[config_.hosts == 0 ? 0 : slot]; }
  void NoteEffect(ActorId actor, const CompleteRequest& request);
  void StartIn(size_t slot);
  void End(ActorId actor, bool crash);
  void Crash(size_t slot, Micros restart);
  Slot* SlotOf(ActorId actor);
  void BeforeEvent(ActorId actor);
  bool AtStep(ActorId actor, BatchStep step);
  bool DiesForgetting(ActorId actor, int32_t partition, ForgetStep step);
  void InsideStep(ActorId actor, BatchStep step);
  void Play(const Fault& fault);
  void Strike(const Fault& fault, size_t slot);
  void ResetOffset(const Fault& fault);
  void DoReset(const Fault& fault);
  void Act(const Fault& fault);
  void ReadUncommitted(int32_t partition, StoreState& state) const;
  void Repair(int32_t partition);
  void PowerLoss(const Fault& fault);
  void Heal();
  bool Drained() const;
  void WatchForEnd();
  void Incident(const std::string& what);

  const Config config_;
  const Log log_;
  EventLoop loop_;
  History history_;
  Sometimes sometimes_;
  SimBroker broker_;
  SimTarget target_;
  Network network_;
  SimJournal journal_;
  SimPark park_;
  std::vector<uint32_t> calls_;
  SimWindow::IdNumbers id_numbers_;
  std::shared_ptr<SimWindow> shared_window_;
  std::vector<std::unique_ptr<ProcessClock>> clocks_;  // of every process so far
  Surroundings surroundings_;
  std::vector<SimDisk> disks_;  // one, or one for each slot
  std::vector<Slot> slots_;
  std::unique_ptr<SimReplay> replay_;  // nullptr: nobody reads beside the group
  std::vector<Fault> armed_;           // crashes that wait for their step
  std::vector<uint64_t> events_;       // by actor
  std::vector<std::string> incidents_;
  ActorId next_actor_ = 1;
  int repairs_ = 0;  // refused partitions that nobody has looked after yet
  bool resetting_ = false;
  bool drained_ = false;
};

RunResult Simulate(const Config& config);

}  // namespace oncemq::sim
