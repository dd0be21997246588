// SPDX-License-Identifier: Apache-2.0
#include "lock_entry.h"

#include <algorithm>

#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

milliseconds Left(BootTime until, BootTime now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

}  // namespace

bool LockEntry::DropEnded(BootTime now) {
  const auto ended = [now](const auto& party) { return party.until <= now; };
  return std::erase_if(holders_, ended) + std::erase_if(waiters_, ended) > 0;
}

bool LockEntry::HoldersAllow(LockMode mode) const {
  return holders_.empty() ||
         (mode == LockMode::kShared && holders_.front().mode == LockMode::kShared);
}

bool LockEntry::WaitersAllow(size_t ahead, LockMode mode) const {
  if (mode == LockMode::kExclusive) {
    return ahead == 0;
  }
  const auto writer = [](const Waiter& waiter) { return waiter.mode == LockMode::kExclusive; };
  const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(ahead);
  return ONCEMQ_MUTANT("reader-passes-writer") || std::none_of(waiters_.begin(), end, writer);
}

size_t LockEntry::PlaceOf(const Token& token) const {
  const auto mine = [&](const Waiter& waiter) { return waiter.token == token; };
  return static_cast<size_t>(std::find_if(waiters_.begin(), waiters_.end(), mine) -
                             waiters_.begin());
}

bool LockEntry::Knows(const Token& token) const {
  const auto mine = [&](const Holder& holder) { return holder.token == token; };
  return std::any_of(holders_.begin(), holders_.end(), mine) || PlaceOf(token) < waiters_.size();
}

void LockEntry::AddTurns(Turns& turns) const {
  for (size_t place = 0; place < waiters_.size(); place++) {
    const Waiter& waiter = waiters_[place];
    if (!HoldersAllow(waiter.mode) || !WaitersAllow(place, waiter.mode)) {
      return;  // and so it is for all behind it
    }
    turns.push_back(waiter.token);
  }
}

// Whoever is first waits for holders, everybody else for the one before: a crash wakes one.
milliseconds LockEntry::Again(size_t place, BootTime now) const {
  if (place > 0) {
    return Left(waiters_[place - 1].until, now);
  }
  BootTime first = holders_.front().until;
  for (const Holder& holder : holders_) {
    first = std::min(first, holder.until);
  }
  return Left(first, now);
}

LockAnswer LockEntry::Ask(const LockAsk& ask, const Fence& fence, BootTime now, Turns& turns) {
  // Only what has ended can have freed the way for others.
  const bool freed = DropEnded(now);
  for (Holder& holder : holders_) {
    if (holder.token == ask.token && !ONCEMQ_MUTANT("repeated-ask-waits")) {
      holder.until = now + ask.lease;
      return {LockAnswer::Kind::kGranted, holder.fence, milliseconds(0)};
    }
  }
  const size_t place = PlaceOf(ask.token);
  const size_t ahead = ask.barge && ask.mode == LockMode::kExclusive ? 0 : place;
  LockAnswer answer;
  if (HoldersAllow(ask.mode) && WaitersAllow(ahead, ask.mode)) {
    if (place < waiters_.size()) {
      waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    holders_.push_back({ask.token, ask.mode, fence, now + ask.lease, false, std::string(ask.who)});
    answer = {LockAnswer::Kind::kGranted, fence, milliseconds(0)};
  } else if (ask.queue) {
    if (place == waiters_.size()) {
      waiters_.push_back({ask.token, ask.mode, now + ask.place, std::string(ask.who)});
    }
    waiters_[place].until = now + ask.place;
    answer = {LockAnswer::Kind::kQueued, {}, Again(place, now)};
  }
  if (freed) {
    AddTurns(turns);
  }
  return answer;
}

Extended LockEntry::Extend(const LockClaim& claim, BootTime now, Turns& turns) {
  if (!ONCEMQ_MUTANT("ended-hold-revived") && DropEnded(now)) {
    AddTurns(turns);
  }
  for (Holder& holder : holders_) {
    if (holder.token == claim.token) {
      holder.until = now + claim.lease;
      return holder.asked_back ? Extended::kAskedBack : Extended::kYes;
    }
  }
  return Extended::kGone;
}

Freed LockEntry::Free(const Token& token, BootTime now, Turns& turns) {
  DropEnded(now);
  const auto ours = [&](const auto& party) {
    return party.token == token || ONCEMQ_MUTANT("free-without-token");
  };
  const bool held = std::erase_if(holders_, ours) > 0;
  std::erase_if(waiters_, ours);
  AddTurns(turns);
  return held ? Freed::kYes : Freed::kNotHeld;
}

size_t LockEntry::AskBack(BootTime now) {
  DropEnded(now);
  for (Holder& holder : holders_) {
    holder.asked_back = true;
  }
  return holders_.size();
}

Freed LockEntry::Evict(const Fence& fence, BootTime now, Turns& turns) {
  DropEnded(now);
  const auto meant = [&](const Holder& holder) {
    return holder.fence == fence || ONCEMQ_MUTANT("evicts-whoever-holds");
  };
  const bool held = std::erase_if(holders_, meant) > 0;
  AddTurns(turns);
  return held ? Freed::kYes : Freed::kNotHeld;
}

bool LockEntry::MyTurn(const Token& token, BootTime now) const {
  const size_t place = PlaceOf(token);
  if (place == waiters_.size() || waiters_[place].until <= now) {
    return true;  // the place has ended: asking again takes a new one
  }
  const LockMode mode = waiters_[place].mode;
  const auto forbids = [&](const auto& party) {
    return party.until > now &&
           (mode == LockMode::kExclusive || party.mode == LockMode::kExclusive);
  };
  const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(place);
  return std::none_of(holders_.begin(), holders_.end(), forbids) &&
         std::none_of(waiters_.begin(), end, forbids);
}

std::vector<LockView::Party> LockEntry::Parties(BootTime now) const {
  std::vector<LockView::Party> parties;
  for (const Holder& holder : holders_) {
    if (holder.until > now) {
      parties.push_back({true, holder.mode, holder.fence, Left(holder.until, now), holder.who});
    }
  }
  for (const Waiter& waiter : waiters_) {
    if (waiter.until > now) {
      parties.push_back({false, waiter.mode, {}, Left(waiter.until, now), waiter.who});
    }
  }
  return parties;
}

}  // namespace oncemq
