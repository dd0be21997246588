// SPDX-License-Identifier: Apache-2.0
#include "lock_table.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {

LockAnswer LockTable::Request(const AcquireRequest& request, BootTime now, Turns& turns) {
  if (request.epoch != epoch_) {
    return {LockAnswer::Kind::kSealed, {epoch_, 0}, milliseconds(0)};
  }
  if (entries_.size() >= sweep_at_) {
    Sweep(now);
  }
  const auto at = entries_.try_emplace(std::string(request.name)).first;
  const Fence next{epoch_, last_fence_.token + 1};
  ONCEMQ_CHECK(last_fence_ < next, "a later grant has a greater fence (T5)");
  const LockAnswer answer = at->second.Request(request, next, now, turns);
  ONCEMQ_CHECK(answer.fence <= next, "no hold has a greater fence than the next grant (T5)");
  last_fence_ = std::max(last_fence_, answer.fence);
  EraseIfIdle(at);
  return answer;
}

Extended LockTable::Extend(const LockClaim& claim, BootTime now, Turns& turns) {
  const auto at = entries_.find(claim.name);
  if (at == entries_.end()) {
    return Extended::kGone;
  }
  const Extended answer = at->second.Extend(claim, now, turns);
  EraseIfIdle(at);
  return answer;
}

Freed LockTable::Free(const LockClaim& claim, BootTime now, Turns& turns) {
  const auto at = entries_.find(claim.name);
  if (at == entries_.end()) {
    return Freed::kNotHeld;
  }
  const Freed answer = at->second.Free(claim.token, now, turns);
  EraseIfIdle(at);
  return answer;
}

size_t LockTable::Recall(std::string_view name, BootTime now) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return 0;
  }
  const size_t recalled = at->second.Recall(now);
  EraseIfIdle(at);
  return recalled;
}

Freed LockTable::Evict(std::string_view name, const Fence& fence, BootTime now, Turns& turns) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return Freed::kNotHeld;
  }
  const Freed answer = at->second.Evict(fence, now, turns);
  EraseIfIdle(at);
  return answer;
}

bool LockTable::MyTurn(std::string_view name, const Token& token, BootTime now) const {
  const auto at = entries_.find(name);
  return at == entries_.end() || at->second.MyTurn(token, now);
}

uint32_t LockTable::Seal(uint32_t epoch) {
  epoch_ = std::max(epoch_, epoch);
  return epoch_;
}

LockView LockTable::Read(std::string_view name, BootTime now) const {
  const auto at = entries_.find(name);
  return {std::string(name),
          at == entries_.end() ? std::vector<LockView::Party>() : at->second.Parties(now)};
}

std::vector<std::string> LockTable::Names(std::string_view after, size_t limit) const {
  std::vector<std::string> names;
  for (auto at = entries_.upper_bound(after); at != entries_.end() && names.size() < limit; ++at) {
    names.push_back(at->first);
  }
  return names;
}

bool LockTable::NeedsQueuePosition(size_t limit, const AcquireRequest& request) const {
  const auto at = entries_.find(request.name);
  return at != entries_.end() && request.queue && at->second.waiters() >= limit &&
         !at->second.Knows(request.token);
}

void LockTable::EraseIfIdle(Entries::iterator at) {
  if (at->second.idle()) {
    entries_.erase(at);
  }
}

// Holders that died and whose names nobody asks for again. Each sweep is paid by as many requests
// as it looks at names.
void LockTable::Sweep(BootTime now) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    at->second.DropEnded(now);
    EraseIfIdle(at);
    at = next;
  }
  sweep_at_ = std::max<size_t>(1024, entries_.size() * 2);
}

}  // namespace oncemq
