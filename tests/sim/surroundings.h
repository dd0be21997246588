// SPDX-License-Identifier: Apache-2.0
// Surroundings: what a simulated process can reach. Owned by the World, which outlives its
// processes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config.h"
#include "event_loop.h"
#include "history.h"
#include "log.h"
#include "oncemq/framework/batch_machine.h"
#include "rng.h"
#include "sim_broker.h"
#include "sim_park.h"
#include "sim_target.h"
#include "sim_window.h"
#include "sometimes.h"

namespace oncemq::sim {

// The way between a process and the broker. While a process is cut off, nothing gets through, in
// either direction.
class Network {
 public:
  Network(const Config& config, EventLoop& loop)
      : config_(config), loop_(loop), rng_(static_cast<uint64_t>(config.seed), "network") {}

  bool IsCut(ActorId actor) const {
    return actor < cut_until_.size() && loop_.now() < cut_until_[actor];
  }
  void Cut(ActorId actor, Micros until);
  Micros OneWay() { return rng_.Between(1, config_.latency); }
  void ToBroker(ActorId from, EventLoop::Body body);
  void ToClient(ActorId to, EventLoop::Body body);

 private:
  const Config& config_;
  EventLoop& loop_;
  Rng rng_;
  std::vector<Micros> cut_until_;
};

// What the handler does with an id, by its seed: the same in every process.
struct Script {
  enum class End : uint8_t { kDone, kReject, kKill };
  End end = End::kDone;
  uint32_t failures = 0;           // calls that end in Retry first
  bool effect_then_fails = false;  // those calls have their effect all the same
  bool says_not_done = false;      // and say so where they had none
  bool says_when = false;          // the handler names the time of its next attempt
  Micros time = 0;
};
Script ScriptOf(const Config& config, uint32_t id);
// The id has no effect: its handler refuses it, never succeeds, or ends the process.
bool EndsRefused(const Config& config, uint32_t id);
// Such a message is refused before anybody claims it.
bool IsMalformed(const Config& config, uint32_t id);
// Malformed, and handled all the same, beside the window.
bool Passes(const Config& config, uint32_t id);

// Refused messages on record. Each process appends to a journal of its own; all are read together.
class SimJournal {
 public:
  SimJournal(const Config& config, EventLoop& loop, History& history)
      : config_(config),
        loop_(loop),
        history_(history),
        rng_(static_cast<uint64_t>(config.seed), "journal") {}
  using Done = std::function<void(const Status&, uint64_t first)>;
  void Write(ActorId who, std::vector<uint32_t> deliveries, std::function<void()> applied,
             Done done);
  void Heal() { healed_ = true; }

 private:
  const Config& config_;
  EventLoop& loop_;
  History& history_;
  Rng rng_;
  uint64_t next_ = 1;
  bool healed_ = false;
};

struct Surroundings {
  const Config& config;
  const Log& log;
  EventLoop& loop;
  History& history;
  Sometimes& sometimes;
  SimBroker& broker;
  SimTarget& target;
  Network& network;
  SimJournal& journal;
  SimPark& park;
  std::vector<uint32_t>& calls;  // handler calls of each id so far
  bool healed = false;           // no more faults
  // Whether handlers refuse nothing any more.
  bool Mended() const { return Parks(config) && (healed || loop.now() >= config.mended_at); }
  // The delivery that a token was claimed for, once its handler is called.
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> handled = {};
  // True: the process dies here; its code returns at once and touches nothing.
  std::function<bool(ActorId, BatchStep)> at_step;
  std::function<void(ActorId, BatchStep)> inside_step;
  std::function<void(ActorId)> kill;                 // as at_step with true
  std::function<void(ActorId)> left;                 // a closing process is done
  std::function<void(const std::string&)> incident;  // what must never happen did
  // A partition does not start: somebody has to look after it.
  std::function<void(int32_t partition)> refused;
};

}  // namespace oncemq::sim
