// SPDX-License-Identifier: Apache-2.0
// LockTable: what a lock store knows of its names, and the rules by which it grants them. Without
// clock or thread. The memory engine is this table; every other engine does the same in the words
// of its store.
//
// T1  A name is granted if no holder forbids it, and no waiter ahead does.
// T2  A reader forbids writers; a writer forbids everybody. Barging ignores the waiters ahead, but
//     no reader ever passes a waiting writer.
// T3  An ask that is repeated by its token changes nothing but times.
// T4  A hold or a place that has ended is gone for ever: no extension revives it.
// T5  Fences rise over all names, so an idle name needs no memory.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// Thread safety: none; whoever owns it locks.
class LockTable {
 public:
  // Tokens of waiters whose turn it may be. Asking again decides.
  using Turns = std::vector<Token>;

  LockAnswer Ask(const LockAsk& ask, BootTime now, Turns& turns);
  Extended Extend(const LockClaim& claim, BootTime now, Turns& turns);
  Freed Free(const LockClaim& claim, BootTime now, Turns& turns);
  size_t AskBack(std::string_view name, BootTime now);
  Freed Evict(std::string_view name, const Fence& fence, BootTime now, Turns& turns);
  // Whether an ask of this waiter would be granted now.
  bool MyTurn(std::string_view name, const Token& token, BootTime now) const;

  LockView Look(std::string_view name, BootTime now) const;
  std::vector<std::string> Names(std::string_view after, size_t limit) const;
  size_t names() const { return entries_.size(); }
  // Whether an ask takes room for one more name, or for one more waiter behind `limit` of them.
  bool NeedsName(const LockAsk& ask) const;
  bool NeedsPlaceBehind(size_t limit, const LockAsk& ask) const;

 private:
  struct Holder {
    Token token;
    LockMode mode;
    Fence fence;
    BootTime until;
    bool asked_back;
    std::string who;
  };
  struct Waiter {
    Token token;
    LockMode mode;
    BootTime until;
    std::string who;
  };
  struct Entry {
    std::vector<Holder> holders;
    std::deque<Waiter> waiters;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  static void DropEnded(Entry& entry, BootTime now);
  static bool HoldersAllow(const Entry& entry, LockMode mode);
  static bool WaitersAllow(const Entry& entry, size_t ahead, LockMode mode);
  static size_t PlaceOf(const Entry& entry, const Token& token);
  static void AddTurns(const Entry& entry, Turns& turns);
  static milliseconds Again(const Entry& entry, size_t place, BootTime now);
  LockAnswer Grant(Entry& entry, const LockAsk& ask, size_t place, BootTime now);
  void EraseIfIdle(Entries::iterator at);
  void SweepNow(BootTime now);

  Entries entries_;
  uint64_t last_fence_ = 0;
  size_t sweep_at_ = 1024;
};

}  // namespace oncemq
