// SPDX-License-Identifier: Apache-2.0
// SimPark: the park topic, with a tool that redrives and drops. A write may be refused, land half,
// lose its answer, or land long after its caller gave up. Writes of a process land in their order,
// as with an idempotent producer.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config.h"
#include "event_loop.h"
#include "history.h"
#include "log.h"
#include "park_book.h"
#include "rng.h"
#include "sometimes.h"

namespace oncemq::sim {

struct SimParkRecord {
  ParkRecord record;
  std::optional<uint64_t> key;  // by its hash
  uint32_t delivery = kNone;    // of an entry or an outcome
};

class SimPark {
 public:
  SimPark(const Config& config, const Log& log, EventLoop& loop, History& history,
          Sometimes& sometimes);

  // `applied` runs where the records land; `done` at the caller, with the place of the last one.
  using Done = std::function<void(const Status&, int64_t last)>;
  void Write(ActorId who, int32_t partition, std::vector<SimParkRecord> records,
             std::function<void()> applied, Done done);
  // `heard` runs in the process with a new end of the partition, soon after each record.
  void Follow(ActorId who, int32_t partition, std::function<void(size_t end)> heard);
  const SimParkRecord& At(int32_t partition, size_t place) const {
    return partitions_[static_cast<size_t>(partition)].records[place];
  }

  // The tool: redrives now and then, and all that is left once handlers are mended.
  void StartTool();
  bool Empty(int32_t partition) const {
    return partitions_[static_cast<size_t>(partition)].book.entries().empty();
  }
  void Heal() { healed_ = true; }

 private:
  struct Partition {
    std::vector<SimParkRecord> records;
    ParkBook book;  // as the tool reads it
    OwnerEpoch owner = 0;
    std::map<ActorId, std::function<void(size_t)>> followers;
    std::map<int64_t, uint32_t> refused;  // redrives of an entry before handlers were mended
  };

  void Land(ActorId who, int32_t partition, SimParkRecord record);
  void Look();
  void Command(int32_t partition, ParkKind kind, int64_t offset, std::string run);
  bool NeverEnds(int32_t partition, int64_t offset) const;

  const Config& config_;
  const Log& log_;
  EventLoop& loop_;
  History& history_;
  Sometimes& sometimes_;
  Rng rng_;
  std::vector<Partition> partitions_;
  std::map<std::pair<ActorId, int32_t>, Micros> landing_;  // of the last write
  int64_t run_ = 0;
  bool healed_ = false;
};

}  // namespace oncemq::sim
