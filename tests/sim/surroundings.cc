// SPDX-License-Identifier: Apache-2.0
#include "surroundings.h"

#include <utility>

namespace oncemq::sim {

void Network::Cut(ActorId actor, Micros until) {
  if (cut_until_.size() <= actor) {
    cut_until_.resize(actor + 1, 0);
  }
  cut_until_[actor] = until;
}

void Network::ToBroker(ActorId from, EventLoop::Body body) {
  if (IsCut(from)) {
    return;
  }
  loop_.Plan(kWorld, OneWay(), [this, from, body = std::move(body)] {
    if (!IsCut(from)) {
      body();
    }
  });
}

void Network::ToClient(ActorId to, EventLoop::Body body) {
  loop_.Plan(to, OneWay(), [this, to, body = std::move(body)] {
    if (!IsCut(to)) {
      body();
    }
  });
}

Script ScriptOf(const Config& config, uint32_t id) {
  Rng rng(static_cast<uint64_t>(config.seed) * 1'000'003 + id, "script");
  Script script;
  script.time = rng.Chance(config.slow) ? config.slow_time : rng.Between(1, config.handler_time);
  if (rng.Chance(config.retries)) {
    script.failures = static_cast<uint32_t>(rng.Between(1, 3));
    script.effect_then_fails = rng.Chance(400);
    script.says_not_done = rng.Chance(500);
    script.says_when = rng.Chance(300);
  }
  if (rng.Chance(config.rejects)) {
    script.end = Script::End::kReject;
    script.effect_then_fails = false;
  }
  if (rng.Chance(config.hopeless)) {
    script.failures = UINT32_MAX;
    script.effect_then_fails = script.says_not_done = false;
  }
  if (rng.Chance(config.killers)) {
    script = {.end = Script::End::kKill};
  }
  return script;
}

bool EndsRefused(const Config& config, uint32_t id) {
  if (Parks(config)) {
    return false;  // it is redriven
  }
  const Script script = ScriptOf(config, id);
  return script.end != Script::End::kDone || script.failures == UINT32_MAX;
}

bool IsMalformed(const Config& config, uint32_t id) {
  return Rng(static_cast<uint64_t>(config.seed) * 1'000'033 + id, "form").Chance(config.malformed);
}

bool Passes(const Config& config, uint32_t id) {
  return config.pass != 0 && PlacementOf(config) != Placement::kNone && IsMalformed(config, id);
}

void SimJournal::Write(ActorId who, std::vector<uint32_t> deliveries, std::function<void()> applied,
                       Done done) {
  if (!healed_ && rng_.Chance(config_.journal_refused)) {
    loop_.Plan(who, rng_.Between(1, kMilli), [done] {
      done(Error{Code::kUnavailable, Effect::kNone, "disk full"}, 0);
    });
    return;
  }
  const bool lost = !healed_ && rng_.Chance(config_.journal_lost);
  loop_.Plan(kWorld, rng_.Between(1, kMilli),
             [this, who, lost, deliveries = std::move(deliveries), applied = std::move(applied),
              done = std::move(done)] {
               const uint64_t first = next_;
               next_ += deliveries.size();
               for (const uint32_t delivery : deliveries) {
                 const DeliveryFacts& facts = history_.delivery(delivery);
                 history_.Append({.time = loop_.now(),
                                  .process = who,
                                  .op = Op::kJournal,
                                  .phase = Phase::kOk,
                                  .partition = facts.partition,
                                  .offset = facts.offset,
                                  .delivery = delivery,
                                  .id = facts.id});
               }
               applied();
               const Status status =
                   lost ? Status(Error{Code::kTimeout, Effect::kUnknown, "lost"}) : Status();
               loop_.Plan(who, rng_.Between(1, kMilli),
                          [done, status, first] { done(status, first); });
             });
}

}  // namespace oncemq::sim
