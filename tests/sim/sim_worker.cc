// SPDX-License-Identifier: Apache-2.0
#include "sim_worker.h"

#include <algorithm>
#include <utility>

#include "sim_process.h"

namespace oncemq::sim {
namespace {

BatchPolicy PolicyOf(const Config& config) {
  return {.level = LevelOf(config),
          .window = PlacementOf(config) != Placement::kNone,
          .reject = Parks(config)         ? RejectPolicy::kPark
                    : config.journal != 0 ? RejectPolicy::kJournal
                                          : RejectPolicy::kStop,
          .store_retry = microseconds(config.store_retry),
          .retry = {.first = milliseconds(20),
                    .most = milliseconds(1000),
                    .attempts = static_cast<uint32_t>(config.attempts),
                    .at_end = config.attempts > 0 ? AtEnd::kPark : AtEnd::kKeepTrying}};
}

// Workers share the process half of their tokens, because a delivery may come to another one next
// time.
TokenSource TokensOf(ActorId actor, uint32_t number) {
  return TokenSource(actor, (uint64_t{number} + 1) << 40);
}

}  // namespace

SimWorker::SimWorker(ActorId actor, uint32_t number, Surroundings& world, const Clock& clock,
                     SimProcess& process, std::shared_ptr<SimWindow> window)
    : actor_(actor),
      number_(number),
      world_(world),
      clock_(clock),
      process_(process),
      window_(std::move(window)),
      rng_(static_cast<uint64_t>(world.config.seed) * 977 + actor * 16 + number, "worker"),
      machine_(PolicyOf(world.config), TokensOf(actor, number)) {}

void SimWorker::Begin(MessageBatch& batch) {
  batch_number_++;
  effects_.reset();
  watch_.Reset(/*on_poll_thread=*/false, BootTime::max());
  safe_until_ = batch.safe_until;
  for (const BatchItem& item : batch.items) {
    const uint32_t delivery = static_cast<const SimMessage*>(item.message)->delivery;
    const DeliveryFacts& facts = world_.history.delivery(delivery);
    taken_.push_back(delivery);
    world_.sometimes.Count(Situation::kCopyInBatch, item.copy);
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kTake,
                           .partition = facts.partition,
                           .epoch = facts.epoch,
                           .offset = facts.offset,
                           .delivery = delivery,
                           .id = facts.id,
                           .owner_epoch = item.owner_epoch,
                           .value = static_cast<int64_t>(number_ << 32 | batch_number_),
                           .aux = static_cast<int64_t>(item.stage)});
  }
  claims_end_.Begin();
  machine_.Start(batch);
  Later();
}

void SimWorker::End() {
  taken_.clear();
}

void SimWorker::StopBatchOf(int32_t partition) {
  if (std::any_of(taken_.begin(), taken_.end(), [&](uint32_t delivery) {
        return world_.history.delivery(delivery).partition == partition;
      })) {
    watch_.StopHandling();
  }
}

bool SimWorker::Holds(int32_t partition) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](uint32_t delivery) {
    return world_.history.delivery(delivery).partition == partition;
  });
}

bool SimWorker::Handles(int32_t partition) const {
  return handling_ != kNone && world_.history.delivery(handling_).partition == partition;
}

void SimWorker::Later(Micros most) {
  world_.loop.Plan(actor_, rng_.Between(1, most), [this] { Step(); });
}

void SimWorker::Step() {
  const BatchStep step = machine_.step();
  if (world_.at_step(actor_, step)) {
    return;
  }
  switch (step) {
    case BatchStep::kHandle:
      return Handle();
    case BatchStep::kJournal:
      return Journal();
    case BatchStep::kSettled:
      return process_.Settled(*this);
    default:
      return CallWindow(step);
  }
}

std::function<void()> SimWorker::Inside(BatchStep step) {
  // At the window: this worker may be gone by then.
  return [&world = world_, actor = actor_, step] { world.inside_step(actor, step); };
}

void SimWorker::CallWindow(BatchStep step) {
  const auto changes = [this](void (BatchMachine::*then)(const Status&)) {
    return [this, then](const Status& status, const std::vector<MarkerChange>& replies) {
      std::copy(replies.begin(), replies.end(), machine_.changes().begin());
      if (machine_.step() == BatchStep::kComplete) {
        watch_.EndCompleting();
      }
      (machine_.*then)(status);
      Later();
    };
  };
  switch (step) {
    case BatchStep::kRestore:
      return window_->Restore(actor_, machine_.restores(), Inside(step),
                              changes(&BatchMachine::Restored));
    case BatchStep::kRelease:
      return window_->Release(actor_, machine_.releases(), Inside(step),
                              changes(&BatchMachine::Released));
    case BatchStep::kComplete:
      watch_.BeginCompleting(machine_);
      if (machine_.Atomic()) {
        world_.sometimes.Count(Situation::kEffectsTogether, machine_.completions().size() > 1);
        return window_->CompleteWith(actor_, std::exchange(effects_, nullptr),
                                     machine_.completions(), Inside(step),
                                     changes(&BatchMachine::Completed));
      }
      return window_->Complete(actor_, machine_.completions(), Inside(step),
                               changes(&BatchMachine::Completed));
    case BatchStep::kPark:
      return window_->Park(actor_, machine_.parks(), Inside(step), changes(&BatchMachine::Parked));
    case BatchStep::kRecord: {
      const auto then = [this](const Status& status) {
        machine_.Recorded(status);
        Later();
      };
      return window_ == nullptr
                 ? then(Status())
                 : window_->RecordUncertain(actor_, machine_.uncertain(), Inside(step), then);
    }
    case BatchStep::kClaim:
      NoteClaims();
      return window_->Claim(actor_, machine_.claims(), Inside(step),
                            [this, sent = clock_.Boot()](const Status& status,
                                                         const std::vector<ClaimAnswer>& replies) {
                              if (status && LevelOf(world_.config) == Level::kOpaque) {
                                claims_end_.Claimed(sent, TimesOf(world_.config));
                              }
                              std::copy(replies.begin(), replies.end(),
                                        machine_.claim_answers().begin());
                              machine_.Claimed(status);
                              Later();
                            });
    default:
      return;
  }
}

void SimWorker::NoteClaims() {
  for (const ClaimRequest& claim : machine_.claims()) {
    const auto delivery = std::find_if(taken_.begin(), taken_.end(), [&](uint32_t number) {
      const DeliveryFacts& facts = world_.history.delivery(number);
      return facts.partition == claim.at.partition && facts.offset == claim.at.offset;
    });
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kClaim,
                           .phase = Phase::kInvoke,
                           .partition = claim.at.partition,
                           .offset = claim.at.offset,
                           .delivery = *delivery,
                           .id = world_.history.delivery(*delivery).id,
                           .token = claim.token,
                           .owner_epoch = claim.owner_epoch});
  }
}

void SimWorker::Journal() {
  world_.sometimes.Count(Situation::kRejectJournaled);
  if (Parks(world_.config)) {
    return Park();
  }
  std::vector<uint32_t> deliveries;
  for (const JournalEntry& entry : machine_.journal_entries()) {
    deliveries.push_back(static_cast<const SimMessage*>(entry.item->message)->delivery);
  }
  world_.journal.Write(actor_, std::move(deliveries), Inside(BatchStep::kJournal),
                       [this](const Status& status, uint64_t first) {
                         machine_.Journaled(status, first);
                         Later();
                       });
}

// As of PersistEnds() in the runtime.
Status SimWorker::PersistEnds() {
  for (const JournalEntry& entry : machine_.journal_entries()) {
    if (entry.kind == RecordKind::kEnded) {
      const Coordinates& at = entry.item->at;
      const Announcement kept{.source = at.source, .partition = at.partition, .commits = false};
      return window_->engine().Announce({&kept, 1});
    }
  }
  return {};
}

void SimWorker::Park() {
  if (const Status kept = PersistEnds(); !kept) {
    machine_.Journaled(kept, 0);
    return Later();
  }
  std::vector<SimParkRecord> records;
  int32_t partition = 0;
  for (const JournalEntry& entry : machine_.journal_entries()) {
    const uint32_t delivery = static_cast<const SimMessage*>(entry.item->message)->delivery;
    const DeliveryFacts& facts = world_.history.delivery(delivery);
    partition = facts.partition;
    SimParkRecord& one = records.emplace_back();
    one.record = {.kind = ParkKindOf(entry.kind),
                  .offset = facts.offset,
                  .owner = process_.redrives().BegunAs(partition, entry.item->owner_epoch),
                  .first = entry.item->first,
                  .attempts = entry.attempts,
                  .why = std::string(entry.why)};
    if (facts.key != kNoKey) {
      one.key = KeyHash(facts.key);
    }
    one.delivery = delivery;
  }
  world_.park.Write(actor_, partition, std::move(records), Inside(BatchStep::kJournal),
                    [this, partition](const Status& status, int64_t last) {
                      if (status) {
                        process_.redrives().Recorded(partition, last);
                      }
                      machine_.Journaled(status, 0);
                      Later();
                    });
}

void SimWorker::Handle() {
  if (!calling_) {
    calling_ = true;
    watch_.BeginHandling(machine_, clock_.Boot());
    RenewLater();
  }
  const bool stop = watch_.stop_handling() || claims_end_.Reached(clock_.Boot());
  if (stop) {
    machine_.StopHandling();
  }
  const Grant* grant = machine_.Next(clock_.Boot());
  if (grant == nullptr) {
    calling_ = false;
    (void)watch_.EndHandling();  // nobody abandons a run here
    world_.sometimes.Count(Situation::kPastSafeUntil, !stop && clock_.Boot() >= safe_until_);
    return Later();
  }
  if (machine_.Atomic() && !OpenEffects(*grant)) {
    machine_.StopHandling();
    return Later();
  }
  Attempt(*grant);
}

void SimWorker::Attempt(const Grant& grant) {
  handling_ = static_cast<const SimMessage*>(grant.item->message)->delivery;
  owner_epoch_ = grant.item->owner_epoch;
  const DeliveryFacts& facts = world_.history.delivery(handling_);
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kHandle,
                         .phase = Phase::kInvoke,
                         .flag = grant.uncertain,
                         .partition = facts.partition,
                         .epoch = facts.epoch,
                         .offset = facts.offset,
                         .delivery = handling_,
                         .id = facts.id,
                         .token = grant.token,
                         .owner_epoch = owner_epoch_,
                         .value = grant.attempt});
  const Script script = ScriptOf(world_.config, facts.id);
  if (script.end == Script::End::kKill) {
    return world_.kill(actor_);
  }
  if (script.time >= world_.config.slow_time && rng_.Chance(500)) {
    SettleOthersLater(script.time / 4);
  }
  const bool mended = world_.Mended();
  const bool fails = world_.calls[facts.id]++ < script.failures && !mended;
  const bool rejects = script.end == Script::End::kReject && !mended;
  world_.handled[{grant.token.process, grant.token.attempt}] = handling_;
  if (effects_ != nullptr) {
    Outcome outcome = Done{"r"};
    if (fails) {
      outcome = Retry{};
    } else if (rejects) {
      outcome = Reject{"as scripted"};
    }
    effects_->Begin();
    return WriteEffects(script, std::move(outcome));
  }
  if (fails && !script.effect_then_fails) {
    Retry retry{.not_done = script.says_not_done};
    if (script.says_when) {
      retry.after = milliseconds(rng_.Between(0, 50));
    }
    return Finish(script.time, retry);
  }
  if (rejects) {
    return Finish(script.time, Reject{"as scripted"});
  }
  if (world_.config.fence != 0 && !world_.target.InstallFence(facts, owner_epoch_)) {
    return Finish(script.time, Retry{.not_done = true});  // an old owner's fence: nothing was done
  }
  world_.loop.Plan(actor_, script.time / 2, [this, script, fails] { SendEffect(script, fails); });
}

// A handler that keeps the others waiting: what is not its own message goes on without it.
void SimWorker::SettleOthersLater(Micros delay) {
  world_.loop.Plan(actor_, delay, [this, waited = handling_, number = batch_number_] {
    if (handling_ != waited || batch_number_ != number || taken_.size() == 1) {
      return;
    }
    std::vector<Settlement> settled;
    machine_.SettleOthers(settled);
    std::vector<uint32_t> others = std::exchange(taken_, {waited});
    std::erase(others, waited);
    world_.sometimes.Count(Situation::kBatchSplit);
    process_.Settle(others, settled);
  });
}

void SimWorker::SendEffect(const Script& script, bool fails) {
  const Micros there = rng_.Between(1, kMilli);
  const bool lost = !world_.healed && rng_.Chance(world_.config.effect_lost);
  world_.loop.Plan(
      kWorld, there,
      [this, &world = world_, actor = actor_, delivery = handling_, owner_epoch = owner_epoch_,
       script, fails, lost, back = rng_.Between(1, kMilli)] {
        const auto reply = world.target.Effect(delivery, owner_epoch);
        world.inside_step(actor, BatchStep::kHandle);
        world.loop.Plan(actor, lost ? world.config.call_timeout : back,
                        [this, reply, script, fails, lost] {
                          if (lost || fails) {
                            return Finish(1, Retry{});
                          }
                          if (reply == SimTarget::Reply::kOldFence) {
                            return Finish(1, Retry{.not_done = true});
                          }
                          Finish(script.time / 2, Done{"r"});
                        });
      });
}

void SimWorker::Finish(Micros delay, Outcome outcome) {
  world_.loop.Plan(actor_, delay, [this, outcome = std::move(outcome)]() mutable {
    const DeliveryFacts& facts = world_.history.delivery(handling_);
    const auto* retry = std::get_if<Retry>(&outcome);
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kHandle,
                           .phase = Phase::kOk,
                           .flag = retry != nullptr && retry->not_done,
                           .partition = facts.partition,
                           .epoch = facts.epoch,
                           .offset = facts.offset,
                           .delivery = handling_,
                           .id = facts.id,
                           .owner_epoch = owner_epoch_,
                           .value = static_cast<int64_t>(outcome.index())});
    handling_ = kNone;
    if (effects_ != nullptr) {
      std::holds_alternative<Done>(outcome) ? static_cast<void>(effects_->Keep())
                                            : effects_->Undo();
    }
    machine_.Handled(std::move(outcome));
    Later();
  });
}

// What the keeper does: asks the run's watch in every third of the lease, until the run is settled
// (rule 13).
void SimWorker::RenewLater() {
  if (world_.config.renew == 0 || PlacementOf(world_.config) == Placement::kNone) {
    return;
  }
  world_.loop.Plan(actor_, world_.config.lease / 3, [this, number = batch_number_] {
    if (number != batch_number_ || idle()) {
      return;
    }
    const microseconds every(world_.config.lease / 3);
    const BatchWatch::Due due = watch_.Tick(clock_.Boot(), every);
    std::vector<RenewRequest> claims;
    for (const HeldClaim& claim : due.renew) {
      claims.push_back({claim.id, claim.token, claim.at});
    }
    if (!claims.empty()) {
      window_->Renew(actor_, claims,
                     [this, number, round = claims_end_.round(), sent = clock_.Boot()](
                         const Status& status, const std::vector<MarkerChange>& replies) {
                       const bool lost =
                           status && std::find(replies.begin(), replies.end(),
                                               MarkerChange::kFenced) != replies.end();
                       if (lost && number == batch_number_) {
                         watch_.StopHandling();
                       } else if (status && !lost) {
                         claims_end_.Renewed(round, sent);
                       }
                     });
    }
    RenewLater();
  });
}

}  // namespace oncemq::sim
