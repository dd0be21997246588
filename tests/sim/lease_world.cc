// SPDX-License-Identifier: Apache-2.0
#include "lease_world.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace oncemq::sim {
namespace {

// Short against the lease, so that what is wrong by a clock's drift shows.
constexpr microseconds kLatency{10};
constexpr milliseconds kTimeout{50};
constexpr milliseconds kSlow{150};
constexpr milliseconds kLate{400};
// No margin: the drift alone keeps two holders apart.
constexpr LeaseTimes kTimes{milliseconds(300), milliseconds(0), milliseconds(0)};
constexpr milliseconds kQueueLease{90};
constexpr BootTime kEnd{microseconds(60'000'000)};

}  // namespace

LeaseWorld::LeaseWorld(const LeaseStory& story, Fates fates, std::set<LeaseMoment>& moments)
    : story_(story), fates_(std::move(fates)), moments_(moments) {
  for (const ContenderPlan& plan : story.contenders) {
    Contender contender;
    contender.plan = plan;
    contender.token = {1, contenders_.size() + 1};
    if (contenders_.size() < fates_.size()) {
      const std::vector<Fate>& first = fates_[contenders_.size()];
      contender.fates.assign(first.rbegin(), first.rend());
    }
    contenders_.push_back(std::move(contender));
  }
}

std::string LeaseWorld::Run() {
  for (Contender& c : contenders_) {
    At(now_ + c.plan.begins, [this, &c] {
      AcquirePlan plan{
          .times = kTimes, .queue_lease = kQueueLease, .patience = milliseconds(30'000)};
      if (c.plan.gives_up) {
        plan.until = LocalOf(c) + *c.plan.gives_up;
      }
      c.acquiring.emplace(plan, LocalOf(c));
      Act(c);
    });
  }
  if (story_.sealed) {
    At(now_ + *story_.sealed, [this] { static_cast<void>(table_.Seal(1)); });
  }
  while (!events_.empty() && broken_.empty()) {
    const auto next = events_.begin();
    now_ = next->first.first;
    const auto what = std::move(next->second);
    events_.erase(next);
    what();
    CheckExclusion();
    if (now_ > kEnd) {
      Break("it does not end");
    }
  }
  for (const Contender& c : contenders_) {
    if (broken_.empty() && (!c.over || (!c.granted && !c.plan.gives_up && !c.refused))) {
      Break("a contender never gets its turn");
    }
  }
  if (broken_.empty() && !zombie_ && !table_.Read("x", now_).parties.empty()) {
    Break("something is left at the store");
  }
  return broken_;
}

void LeaseWorld::At(BootTime when, std::function<void()> what) {
  events_.emplace(std::pair(std::max(when, now_), order_++), std::move(what));
}

BootTime LeaseWorld::LocalAt(const Contender& c, BootTime real) {
  return real + microseconds(real.time_since_epoch().count() * c.plan.ppm / 1'000'000);
}

BootTime LeaseWorld::RealAt(const Contender& c, BootTime local) const {
  // Rounded up, so that the contender finds the time come.
  BootTime real = local - microseconds(local.time_since_epoch().count() * c.plan.ppm / 1'000'000);
  while (LocalAt(c, real) < local) {
    real += microseconds(1);
  }
  return std::max(real, now_);
}

void LeaseWorld::Call(Contender& c, std::function<void()> at_store, Reply reply) {
  Fate fate = Fate::kQuick;
  if (!c.fates.empty()) {
    fate = c.fates.back();
    c.fates.pop_back();
  }
  c.calling = true;
  const auto answer = [this, &c, reply = std::move(reply)](bool arrived) {
    c.calling = false;
    reply(arrived);
  };
  const bool arrives = fate == Fate::kQuick || fate == Fate::kSlowReply || fate == Fate::kLateReply;
  if (fate != Fate::kRequestLost) {
    At(now_ + (fate == Fate::kLateRequest ? microseconds(kLate) : kLatency), std::move(at_store));
  }
  const microseconds takes = fate == Fate::kQuick       ? kLatency * 2
                             : fate == Fate::kSlowReply ? microseconds(kSlow)
                             : fate == Fate::kLateReply ? microseconds(kLate)
                                                        : microseconds(kTimeout);
  At(now_ + takes, [answer, arrives] { answer(arrives); });
}

void LeaseWorld::Wake(const LockTable::Turns& turns) {
  for (Contender& c : contenders_) {
    const bool meant = std::find(turns.begin(), turns.end(), c.token) != turns.end();
    if (meant && c.awaiting && story_.wakes) {
      At(now_ + kLatency, [this, &c, wait = c.waits] {
        if (c.awaiting && c.waits == wait) {
          moments_.insert(LeaseMoment::kWoken);
          c.awaiting = false;
          c.acquiring->AwaitEnded();
          Act(c);
        }
      });
    }
  }
}

void LeaseWorld::Act(Contender& c) {
  if (!c.acquiring || c.calling) {
    return;
  }
  using Do = AcquireState::Do;
  const bool late = c.acquiring->owes() && c.granted;
  const AcquireState::Step step = c.acquiring->Next(LocalOf(c), false);
  if (late && step.what == Do::kRequest) {
    moments_.insert(LeaseMoment::kLateGrant);
  }
  switch (step.what) {
    case Do::kRequest:
      Request(c, step.queue);
      return;
    case Do::kAwait:
    case Do::kPause:
      c.awaiting = step.what == Do::kAwait;
      At(RealAt(c, step.until), [this, &c, wait = ++c.waits] {
        if (c.acquiring && c.waits == wait && !c.calling) {
          if (std::exchange(c.awaiting, false)) {
            c.acquiring->AwaitEnded();
          }
          Act(c);
        }
      });
      return;
    case Do::kHold:
      BeginHold(c);
      return;
    case Do::kGiveUp:
    case Do::kFail:
      moments_.insert(LeaseMoment::kGaveUp);
      c.granted = false;
      if (c.acquiring->owes()) {
        moments_.insert(LeaseMoment::kOwedAndTakenBack);
        c.acquiring.reset();
        Free(c, now_ + kTimes.lease * 2);
      } else {
        c.acquiring.reset();
        c.over = true;
      }
      return;
  }
}

void LeaseWorld::Request(Contender& c, bool queue) {
  const auto answer = std::make_shared<LockAnswer>();
  const BootTime requested_at = LocalOf(c);
  c.waits++;
  Call(
      c,
      [this, &c, answer, queue] {
        if (!c.acquiring && !c.holding) {
          zombie_ = true;
          moments_.insert(LeaseMoment::kZombieRequest);
        }
        LockTable::Turns turns;
        *answer = table_.Request({.name = "x",
                                  .token = c.token,
                                  .mode = c.plan.mode,
                                  .queue = queue,
                                  .lease = kTimes.lease,
                                  .queue_lease = kQueueLease},
                                 now_, turns);
        Wake(turns);
      },
      [this, &c, answer, requested_at](bool arrived) {
        if (!c.acquiring) {
          return;
        }
        if (!arrived) {
          c.acquiring->Failed({Code::kTimeout, Effect::kUnknown, "no reply"}, LocalOf(c));
        } else {
          c.granted = answer->kind == LockAnswer::Kind::kGranted;
          if (c.granted) {
            c.fence = answer->fence;
          } else if (answer->kind == LockAnswer::Kind::kQueued && c.waits > 2) {
            moments_.insert(LeaseMoment::kQueuePositionKept);
          }
          if (answer->kind == LockAnswer::Kind::kSealed) {
            c.refused = true;
            if (c.acquiring->owes()) {
              moments_.insert(LeaseMoment::kSealedInQueue);
            }
          }
          c.acquiring->Answered(*answer, requested_at, LocalOf(c));
        }
        Act(c);
      });
}

void LeaseWorld::BeginHold(Contender& c) {
  moments_.insert(LeaseMoment::kGranted);
  c.holding.emplace(kTimes, c.acquiring->requested_at());
  c.acquiring.reset();
  if (c.plan.mode == LockMode::kExclusive && c.fence <= last_fence_) {
    Break("a later hold has no greater fence");
  }
  last_fence_ = std::max(last_fence_, c.fence);
  At(now_ + c.plan.holds, [this, &c] { EndHold(c); });
  Watch(c);
}

void LeaseWorld::Watch(Contender& c) {
  if (!c.holding) {
    return;
  }
  const LeaseState::Due due = c.holding->At(LocalOf(c));
  if (due.lost) {
    moments_.insert(LeaseMoment::kLostByDeadline);
  }
  if (due.renew && !c.calling) {
    Renew(c);
  }
  if (const auto next = c.holding->next()) {
    At(RealAt(c, *next), [this, &c] { Watch(c); });
  }
}

void LeaseWorld::Renew(Contender& c) {
  const auto answer = std::make_shared<Extended>(Extended::kGone);
  const BootTime requested_at = LocalOf(c);
  Call(
      c,
      [this, &c, answer] {
        LockTable::Turns turns;
        *answer = table_.Extend({"x", c.token, kTimes.lease}, now_, turns);
        Wake(turns);
      },
      [this, &c, answer, requested_at](bool arrived) {
        if (!c.holding) {
          return;
        }
        if (!arrived) {
          c.holding->RenewalFailed(LocalOf(c));
        } else if (*answer == Extended::kGone) {
          c.holding->End(LeaseLoss::kTaken);
        } else {
          if (LocalOf(c) >= c.holding->safe_until()) {
            moments_.insert(LeaseMoment::kLateRenewal);
          }
          c.holding->Renewed(requested_at, LocalOf(c));
        }
        Watch(c);
      });
}

void LeaseWorld::EndHold(Contender& c) {
  if (c.holding) {
    c.holding.reset();
    Free(c, now_ + kTimes.lease * 2);
  }
}

// As the watchdog does: again and again, until the store must have forgotten it by itself.
void LeaseWorld::Free(Contender& c, BootTime until) {
  if (c.calling) {
    At(now_ + kTimeout, [this, &c, until] { Free(c, until); });
    return;
  }
  Call(
      c,
      [this, &c] {
        LockTable::Turns turns;
        table_.Free({"x", c.token}, now_, turns);
        Wake(turns);
      },
      [this, &c, until](bool arrived) {
        if (arrived || now_ > until) {
          c.over = true;
        } else {
          Free(c, until);
        }
      });
}

bool LeaseWorld::Mine(const Contender& c) const {
  return c.holding && c.holding->lost() == LeaseLoss::kNot && LocalOf(c) < c.holding->safe_until();
}

void LeaseWorld::CheckExclusion() {
  size_t writers = 0;
  size_t readers = 0;
  for (const Contender& c : contenders_) {
    if (Mine(c)) {
      (c.plan.mode == LockMode::kExclusive ? writers : readers)++;
    }
  }
  if (writers > 1 || (writers > 0 && readers > 0)) {
    Break("two hold it at a time");
  }
}

void LeaseWorld::Break(const std::string& promise) {
  if (broken_.empty()) {
    broken_ = promise + ", at " + std::to_string(now_.time_since_epoch().count()) + " us";
  }
}

}  // namespace oncemq::sim
