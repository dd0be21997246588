// SPDX-License-Identifier: Apache-2.0
// EventLoop: one thread, a virtual clock, and events ordered by (time, sequence). An event belongs
// to an actor (one incarnation of a process) or to nobody: events of a dead actor vanish, those of
// a sleeping one wait until it wakes.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "oncemq/base/clock.h"

namespace oncemq::sim {

// Microseconds since the simulation began.
using Micros = int64_t;
inline constexpr Micros kMilli = 1000;
inline constexpr Micros kSecond = 1'000'000;

// Names one incarnation of a process slot; 0 is the outside world.
using ActorId = uint32_t;
inline constexpr ActorId kWorld = 0;

class EventLoop {
 public:
  using Body = std::function<void()>;

  // Runs `body` after `delay`, not before everything that was planned earlier for the same moment.
  void Plan(ActorId actor, Micros delay, Body body);

  void Kill(ActorId actor);
  void Sleep(ActorId actor, Micros until);
  bool Asleep(ActorId actor) const { return actors_.size() > actor && actors_[actor].wakes > now_; }
  bool Alive(ActorId actor) const { return actors_.size() <= actor || !actors_[actor].dead; }

  // Runs the next event. False when there is none left before `end`; the clock then stands at
  // `end`.
  bool Step(Micros end);

  Micros now() const { return now_; }
  BootTime boot() const { return clock_.Boot(); }
  const Clock& clock() const { return clock_; }
  BootTime ToBoot(Micros at) const { return epoch_ + microseconds(at); }
  Micros FromBoot(BootTime at) const { return (at - epoch_).count(); }
  uint64_t steps() const { return steps_; }

  // Told before each event of an actor; may kill it or send it to sleep.
  std::function<void(ActorId)> before_actor;

 private:
  struct Event {
    Micros time;
    uint64_t sequence;
    ActorId actor;
    Body body;
  };
  struct Actor {
    bool dead = false;
    Micros wakes = 0;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
  Actor& At(ActorId actor);
  void MoveTo(Micros time);

  ManualClock clock_;
  const BootTime epoch_ = clock_.Boot();
  Micros now_ = 0;
  uint64_t next_sequence_ = 0;
  uint64_t steps_ = 0;
  std::vector<Event> heap_;
  std::vector<Actor> actors_;
};

}  // namespace oncemq::sim
