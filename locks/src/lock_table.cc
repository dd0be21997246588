// SPDX-License-Identifier: Apache-2.0
#include "lock_table.h"

#include <algorithm>

#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

milliseconds Left(BootTime until, BootTime now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

}  // namespace

void LockTable::DropEnded(Entry& entry, BootTime now) {
  std::erase_if(entry.holders, [now](const Holder& holder) { return holder.until <= now; });
  std::erase_if(entry.waiters, [now](const Waiter& waiter) { return waiter.until <= now; });
}

bool LockTable::HoldersAllow(const Entry& entry, LockMode mode) {
  return entry.holders.empty() ||
         (mode == LockMode::kShared && entry.holders.front().mode == LockMode::kShared);
}

bool LockTable::WaitersAllow(const Entry& entry, size_t ahead, LockMode mode) {
  if (mode == LockMode::kExclusive) {
    return ahead == 0;
  }
  const auto writer = [](const Waiter& waiter) { return waiter.mode == LockMode::kExclusive; };
  const auto end = entry.waiters.begin() + static_cast<std::ptrdiff_t>(ahead);
  return ONCEMQ_MUTANT("reader-passes-writer") || std::none_of(entry.waiters.begin(), end, writer);
}

size_t LockTable::PlaceOf(const Entry& entry, const Token& token) {
  const auto mine = [&](const Waiter& waiter) { return waiter.token == token; };
  return static_cast<size_t>(std::find_if(entry.waiters.begin(), entry.waiters.end(), mine) -
                             entry.waiters.begin());
}

void LockTable::AddTurns(const Entry& entry, Turns& turns) {
  for (size_t place = 0; place < entry.waiters.size(); place++) {
    const Waiter& waiter = entry.waiters[place];
    if (!HoldersAllow(entry, waiter.mode) || !WaitersAllow(entry, place, waiter.mode)) {
      return;  // and so it is for all behind it
    }
    turns.push_back(waiter.token);
  }
}

// Whoever is first waits for holders, everybody else for the one before: a crash wakes one.
milliseconds LockTable::Again(const Entry& entry, size_t place, BootTime now) {
  if (place > 0) {
    return Left(entry.waiters[place - 1].until, now);
  }
  BootTime first = entry.holders.front().until;
  for (const Holder& holder : entry.holders) {
    first = std::min(first, holder.until);
  }
  return Left(first, now);
}

LockAnswer LockTable::Grant(Entry& entry, const LockAsk& ask, size_t place, BootTime now) {
  if (place < entry.waiters.size()) {
    entry.waiters.erase(entry.waiters.begin() + static_cast<std::ptrdiff_t>(place));
  }
  last_fence_ += ONCEMQ_MUTANT("fence-not-raised") ? 0 : 1;
  const Fence fence{0, last_fence_};
  entry.holders.push_back(
      {ask.token, ask.mode, fence, now + ask.lease, false, std::string(ask.who)});
  return {LockAnswer::Kind::kGranted, fence, milliseconds(0)};
}

LockAnswer LockTable::Ask(const LockAsk& ask, BootTime now, Turns& turns) {
  SweepNow(now);
  const auto at = entries_.try_emplace(std::string(ask.name)).first;
  Entry& entry = at->second;
  DropEnded(entry, now);
  for (Holder& holder : entry.holders) {
    if (holder.token == ask.token && !ONCEMQ_MUTANT("repeated-ask-waits")) {
      holder.until = now + ask.lease;
      return {LockAnswer::Kind::kGranted, holder.fence, milliseconds(0)};
    }
  }
  size_t place = PlaceOf(entry, ask.token);
  const size_t ahead = ask.barge && ask.mode == LockMode::kExclusive ? 0 : place;
  LockAnswer answer;
  if (HoldersAllow(entry, ask.mode) && WaitersAllow(entry, ahead, ask.mode)) {
    answer = Grant(entry, ask, place, now);
  } else if (ask.queue) {
    if (place == entry.waiters.size()) {
      entry.waiters.push_back({ask.token, ask.mode, now + ask.place, std::string(ask.who)});
    }
    entry.waiters[place].until = now + ask.place;
    answer = {LockAnswer::Kind::kQueued, {}, Again(entry, place, now)};
  }
  // What had ended may have freed the way for others, and a reader's grant for the next reader.
  AddTurns(entry, turns);
  EraseIfIdle(at);
  return answer;
}

Extended LockTable::Extend(const LockClaim& claim, BootTime now, Turns& turns) {
  const auto at = entries_.find(claim.name);
  if (at == entries_.end()) {
    return Extended::kGone;
  }
  if (!ONCEMQ_MUTANT("ended-hold-revived")) {
    DropEnded(at->second, now);
  }
  Extended answer = Extended::kGone;
  for (Holder& holder : at->second.holders) {
    if (holder.token == claim.token) {
      holder.until = now + claim.lease;
      answer = holder.asked_back ? Extended::kAskedBack : Extended::kYes;
    }
  }
  AddTurns(at->second, turns);
  EraseIfIdle(at);
  return answer;
}

Freed LockTable::Free(const LockClaim& claim, BootTime now, Turns& turns) {
  const auto at = entries_.find(claim.name);
  if (at == entries_.end()) {
    return Freed::kNotHeld;
  }
  Entry& entry = at->second;
  DropEnded(entry, now);
  const auto ours = [&](const auto& party) {
    return party.token == claim.token || ONCEMQ_MUTANT("free-without-token");
  };
  const bool held = std::erase_if(entry.holders, ours) > 0;
  std::erase_if(entry.waiters, ours);
  AddTurns(entry, turns);
  EraseIfIdle(at);
  return held ? Freed::kYes : Freed::kNotHeld;
}

size_t LockTable::AskBack(std::string_view name, BootTime now) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return 0;
  }
  size_t asked = 0;
  for (Holder& holder : at->second.holders) {
    if (holder.until > now) {
      holder.asked_back = true;
      asked++;
    }
  }
  return asked;
}

Freed LockTable::Evict(std::string_view name, const Fence& fence, BootTime now, Turns& turns) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return Freed::kNotHeld;
  }
  DropEnded(at->second, now);
  const auto meant = [&](const Holder& holder) {
    return holder.fence == fence || ONCEMQ_MUTANT("evicts-whoever-holds");
  };
  const bool held = std::erase_if(at->second.holders, meant) > 0;
  AddTurns(at->second, turns);
  EraseIfIdle(at);
  return held ? Freed::kYes : Freed::kNotHeld;
}

bool LockTable::MyTurn(std::string_view name, const Token& token, BootTime now) const {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return true;  // the place has ended: asking again takes a new one
  }
  const Entry& entry = at->second;
  const size_t place = PlaceOf(entry, token);
  if (place == entry.waiters.size() || entry.waiters[place].until <= now) {
    return true;
  }
  const LockMode mode = entry.waiters[place].mode;
  const auto forbids = [&](const auto& party) {
    return party.until > now &&
           (mode == LockMode::kExclusive || party.mode == LockMode::kExclusive);
  };
  const auto end = entry.waiters.begin() + static_cast<std::ptrdiff_t>(place);
  return std::none_of(entry.holders.begin(), entry.holders.end(), forbids) &&
         std::none_of(entry.waiters.begin(), end, forbids);
}

LockView LockTable::Look(std::string_view name, BootTime now) const {
  LockView view{std::string(name), {}};
  if (const auto at = entries_.find(name); at != entries_.end()) {
    Entry entry = at->second;
    DropEnded(entry, now);
    for (const Holder& holder : entry.holders) {
      view.parties.push_back(
          {true, holder.mode, holder.fence, Left(holder.until, now), holder.who});
    }
    for (const Waiter& waiter : entry.waiters) {
      view.parties.push_back({false, waiter.mode, {}, Left(waiter.until, now), waiter.who});
    }
  }
  return view;
}

std::vector<std::string> LockTable::Names(std::string_view after, size_t limit) const {
  std::vector<std::string> names;
  for (auto at = entries_.upper_bound(after); at != entries_.end() && names.size() < limit; ++at) {
    names.push_back(at->first);
  }
  return names;
}

bool LockTable::NeedsName(const LockAsk& ask) const {
  return !entries_.contains(ask.name);
}

bool LockTable::NeedsPlaceBehind(size_t limit, const LockAsk& ask) const {
  const auto at = entries_.find(ask.name);
  if (at == entries_.end() || at->second.waiters.size() < limit || !ask.queue) {
    return false;
  }
  const auto ours = [&](const auto& party) { return party.token == ask.token; };
  const Entry& entry = at->second;
  return std::none_of(entry.holders.begin(), entry.holders.end(), ours) &&
         std::none_of(entry.waiters.begin(), entry.waiters.end(), ours);
}

void LockTable::EraseIfIdle(Entries::iterator at) {
  if (at->second.holders.empty() && at->second.waiters.empty()) {
    entries_.erase(at);
  }
}

// Holders that died and whose names nobody asks for again. Each sweep is paid by as many asks as it
// looks at names.
void LockTable::SweepNow(BootTime now) {
  if (entries_.size() < sweep_at_) {
    return;
  }
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    DropEnded(at->second, now);
    EraseIfIdle(at);
    at = next;
  }
  sweep_at_ = std::max<size_t>(1024, entries_.size() * 2);
}

}  // namespace oncemq
