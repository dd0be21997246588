// SPDX-License-Identifier: Apache-2.0
#include "event_loop.h"

#include <algorithm>
#include <utility>

namespace oncemq::sim {

EventLoop::Actor& EventLoop::At(ActorId actor) {
  if (actors_.size() <= actor) {
    actors_.resize(actor + 1);
  }
  return actors_[actor];
}

void EventLoop::Plan(ActorId actor, Micros delay, Body body) {
  heap_.push_back({now_ + std::max<Micros>(delay, 0), next_sequence_++, actor, std::move(body)});
  std::push_heap(heap_.begin(), heap_.end(), Later);
}

void EventLoop::Kill(ActorId actor) {
  At(actor).dead = true;
}

void EventLoop::Sleep(ActorId actor, Micros until) {
  At(actor).wakes = until;
}

void EventLoop::MoveTo(Micros time) {
  if (time > now_) {
    clock_.Advance(microseconds(time - now_));
    now_ = time;
  }
}

bool EventLoop::Step(Micros end) {
  while (!heap_.empty() && heap_.front().time <= end) {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    MoveTo(event.time);
    if (event.actor != kWorld) {
      if (Alive(event.actor) && !Asleep(event.actor) && before_actor) {
        before_actor(event.actor);
      }
      if (!Alive(event.actor)) {
        continue;
      }
      if (Asleep(event.actor)) {
        Plan(event.actor, At(event.actor).wakes - now_, std::move(event.body));
        continue;
      }
    }
    steps_++;
    event.body();
    return true;
  }
  MoveTo(end);
  return false;
}

}  // namespace oncemq::sim
