// SPDX-License-Identifier: Apache-2.0
#include "lock_entry.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

milliseconds Left(BootTime until, BootTime now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

uint32_t LimitOf(const AcquireRequest& request) {
  return request.mode == LockMode::kCounted ? std::min(request.limit, kMostCounted) : 0;
}

}  // namespace

void LockEntry::CutEnds(BootTime now) {
  const auto cut = [now](auto& party) {
    if (party.lease > milliseconds(0)) {
      party.until = std::min(party.until, now + party.lease);
    }
  };
  std::for_each(holders_.begin(), holders_.end(), cut);
  std::for_each(waiters_.begin(), waiters_.end(), cut);
}

bool LockEntry::DropEnded(BootTime now) {
  const auto ended = [now](const auto& party) { return party.until <= now; };
  return std::erase_if(holders_, ended) + std::erase_if(waiters_, ended) > 0;
}

bool LockEntry::MayGo(const Newcomer& one, BootTime now) const {
  const bool writer = one.mode == LockMode::kExclusive;
  const bool counted = one.mode == LockMode::kCounted;
  size_t before = 0;
  uint32_t least = one.limit;
  for (const Holder& holder : holders_) {
    if (holder.until <= now) {
      continue;
    }
    if (holder.mode != one.mode) {
      return false;
    }
    before++;
  }
  const bool passes_all = writer && one.barges;
  for (size_t i = 0; i < one.ahead && !passes_all; i++) {
    const Waiter& waiter = waiters_[i];
    if (waiter.until <= now) {
      continue;
    }
    if (waiter.mode != one.mode) {
      return false;
    }
    if (!one.barges) {
      before++;
      least = std::min(least, waiter.limit);
    }
  }
  if (counted) {
    return before < least;
  }
  return !writer || before == 0;
}

size_t LockEntry::PositionOf(const Token& token) const {
  const auto mine = [&](const Waiter& waiter) { return waiter.token == token; };
  return static_cast<size_t>(std::find_if(waiters_.begin(), waiters_.end(), mine) -
                             waiters_.begin());
}

bool LockEntry::Knows(const Token& token) const {
  const auto mine = [&](const Holder& holder) { return holder.token == token; };
  return std::any_of(holders_.begin(), holders_.end(), mine) || PositionOf(token) < waiters_.size();
}

// How many of the first who wait may go; nobody behind one that may not.
size_t LockEntry::Able(BootTime now) const {
  size_t position = 0;
  while (position < waiters_.size() &&
         MayGo({position, waiters_[position].mode, waiters_[position].limit}, now)) {
    position++;
  }
  return position;
}

void LockEntry::AddTurns(Turns& turns, BootTime now, size_t from) const {
  const size_t able = Able(now);
  for (size_t position = from; position < able; position++) {
    turns.push_back(waiters_[position].token);
  }
}

// Whoever is first waits for holders, everybody else for the one before: a crash wakes one.
milliseconds LockEntry::Again(size_t position, BootTime now) const {
  if (position > 0) {
    return Left(waiters_[position - 1].until, now);
  }
  ONCEMQ_CHECK(!holders_.empty(), "the first waiter waits for a holder (T1)");
  BootTime first = holders_.front().until;
  for (const Holder& holder : holders_) {
    first = std::min(first, holder.until);
  }
  return Left(first, now);
}

LockAnswer LockEntry::Request(const AcquireRequest& request, const Fence& fence, BootTime now,
                              Turns& turns, uint64_t home) {
  // Only what has ended can have freed the way for others.
  const bool freed = DropEnded(now);
  for (Holder& holder : holders_) {
    if (holder.token == request.token) {
      holder.until = now + request.lease;
      holder.lease = request.lease;
      return {LockAnswer::Kind::kGranted, holder.fence, milliseconds(0)};
    }
  }
  const size_t position = PositionOf(request.token);
  LockAnswer answer;
  std::optional<size_t> notify_from;  // those whose turn has come, from which place on
  if (MayGo({position, request.mode, LimitOf(request), request.barge}, now)) {
    notify_from = Grant(request, position, fence, now);
    answer = {LockAnswer::Kind::kGranted, fence, milliseconds(0)};
  } else if (request.queue) {
    if (position == waiters_.size()) {
      waiters_.push_back({request.token,
                          request.mode,
                          {},
                          request.queue_lease,
                          std::string(request.who),
                          home,
                          LimitOf(request)});
    }
    waiters_[position].until = now + request.queue_lease;
    waiters_[position].lease = request.queue_lease;
    waiters_[position].home = home;
    answer = {LockAnswer::Kind::kQueued, {}, Again(position, now)};
  }
  if (freed || notify_from) {
    AddTurns(turns, now, freed ? 0 : *notify_from);
  }
  return answer;
}

// A counted one with a low limit that waits no longer does not keep back those behind it any more,
// whose limits are higher. They are to be told, from the queue position that is answered on; those
// before it were told already.
std::optional<size_t> LockEntry::Grant(const AcquireRequest& request, size_t position,
                                       const Fence& fence, BootTime now) {
  const bool waited = position < waiters_.size();
  const size_t able = waited && request.mode == LockMode::kCounted ? Able(now) : 0;
  if (waited) {
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(position));
  }
  ONCEMQ_CHECK(holders_.empty() || request.mode != LockMode::kExclusive,
               "an exclusive holder is alone (T2)");
  ONCEMQ_CHECK(holders_.empty() || holders_.front().mode == request.mode,
               "those who hold a name together hold it in one mode (T2)");
  holders_.push_back({request.token, request.mode, fence, now + request.lease, request.lease, false,
                      std::string(request.who)});
  if (able == 0) {
    return std::nullopt;
  }
  return position < able ? able - 1 : able;
}

Extended LockEntry::Extend(const LockClaim& claim, BootTime now, Turns& turns) {
  if (DropEnded(now)) {
    AddTurns(turns, now);
  }
  for (Holder& holder : holders_) {
    if (holder.token == claim.token) {
      holder.until = now + claim.lease;
      holder.lease = claim.lease;
      return holder.recalled ? Extended::kRecalled : Extended::kYes;
    }
  }
  return Extended::kGone;
}

Freed LockEntry::Free(const Token& token, BootTime now, Turns& turns) {
  DropEnded(now);
  const auto ours = [&](const auto& party) { return party.token == token; };
  const bool held = std::erase_if(holders_, ours) > 0;
  std::erase_if(waiters_, ours);
  AddTurns(turns, now);
  return held ? Freed::kYes : Freed::kNotHeld;
}

size_t LockEntry::Recall(BootTime now) {
  DropEnded(now);
  for (Holder& holder : holders_) {
    holder.recalled = true;
  }
  return holders_.size();
}

Freed LockEntry::Evict(const Fence& fence, BootTime now, Turns& turns) {
  DropEnded(now);
  const auto meant = [&](const Holder& holder) { return holder.fence == fence; };
  const bool held = std::erase_if(holders_, meant) > 0;
  AddTurns(turns, now);
  return held ? Freed::kYes : Freed::kNotHeld;
}

bool LockEntry::MyTurn(const Token& token, BootTime now) const {
  const size_t position = PositionOf(token);
  if (position == waiters_.size() || waiters_[position].until <= now) {
    return true;  // the queue position has ended: asking again takes a new one
  }
  return MayGo({position, waiters_[position].mode, waiters_[position].limit}, now);
}

uint64_t LockEntry::HomeOf(const Token& token) const {
  const size_t position = PositionOf(token);
  return position < waiters_.size() ? waiters_[position].home : 0;
}

BootTime LockEntry::ends() const {
  BootTime last = BootTime::min();
  for (const Holder& holder : holders_) {
    last = std::max(last, holder.until);
  }
  for (const Waiter& waiter : waiters_) {
    last = std::max(last, waiter.until);
  }
  return last;
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
