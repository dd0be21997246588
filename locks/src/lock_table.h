// SPDX-License-Identifier: Apache-2.0
// LockTable: the names of a lock store in memory, each a LockEntry. The memory engine is this
// table; the other engines do the same in the words of their stores.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lock_entry.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// Thread safety: none; whoever owns it locks.
class LockTable {
 public:
  using Turns = LockEntry::Turns;

  // Fences come behind this one.
  explicit LockTable(uint64_t last = 0) : last_fence_{0, last} {}

  LockAnswer Request(const AcquireRequest& request, BootTime now, Turns& turns);
  Extended Extend(const LockClaim& claim, BootTime now, Turns& turns);
  Freed Free(const LockClaim& claim, BootTime now, Turns& turns);
  size_t Recall(std::string_view name, BootTime now);
  Freed Evict(std::string_view name, const Fence& fence, BootTime now, Turns& turns);
  bool MyTurn(std::string_view name, const Token& token, BootTime now) const;
  uint32_t Seal(uint32_t epoch);

  LockView Read(std::string_view name, BootTime now) const;
  std::vector<std::string> Names(std::string_view after, size_t limit) const;
  size_t names() const { return entries_.size(); }
  // Forgets the names of which nothing is left.
  void Sweep(BootTime now);
  // Whether a request takes room for one more name, or for one more waiter behind `limit` of them.
  bool NeedsName(const AcquireRequest& request) const { return !entries_.contains(request.name); }
  bool NeedsQueuePosition(size_t limit, const AcquireRequest& request) const;

 private:
  using Entries = std::map<std::string, LockEntry, std::less<>>;

  void EraseIfIdle(Entries::iterator at);

  Entries entries_;
  // Over all names, so that nothing is kept of an idle one.
  Fence last_fence_;
  uint32_t epoch_ = 0;
  size_t sweep_at_ = 1024;
};

}  // namespace oncemq
