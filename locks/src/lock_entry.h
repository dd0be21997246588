// SPDX-License-Identifier: Apache-2.0
// LockEntry: what a lock store knows of one name, and the rules by which it grants it. Without
// clock or I/O; times are the store's.
//
// T1  A name is granted if no holder forbids it, and no waiter ahead does.
// T2  A reader forbids writers; a writer forbids everybody. Barging ignores the waiters ahead, but
//     no reader ever passes a waiting writer.
// T3  An ask that is repeated by its token changes nothing but times.
// T4  A hold or a place that has ended is gone for ever: no extension revives it.
// T5  A later grant has a greater fence; an idle name needs no memory but of its last one.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class LockEntry {
 public:
  // Tokens of waiters whose turn it may be. Asking again decides.
  using Turns = std::vector<Token>;

  // `fence`: of the grant, if it is a new one.
  LockAnswer Ask(const LockAsk& ask, const Fence& fence, BootTime now, Turns& turns);
  Extended Extend(const LockClaim& claim, BootTime now, Turns& turns);
  Freed Free(const Token& token, BootTime now, Turns& turns);
  size_t AskBack(BootTime now);
  Freed Evict(const Fence& fence, BootTime now, Turns& turns);
  // Forgets what has ended. True if it was anything.
  bool DropEnded(BootTime now);

  // Whether an ask of this waiter would be granted now.
  bool MyTurn(const Token& token, BootTime now) const;
  bool Knows(const Token& token) const;
  std::vector<LockView::Party> Parties(BootTime now) const;
  bool idle() const { return holders_.empty() && waiters_.empty(); }
  size_t waiters() const { return waiters_.size(); }

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

  bool HoldersAllow(LockMode mode) const;
  bool WaitersAllow(size_t ahead, LockMode mode) const;
  size_t PlaceOf(const Token& token) const;
  void AddTurns(Turns& turns) const;
  milliseconds Again(size_t place, BootTime now) const;

  std::vector<Holder> holders_;
  std::deque<Waiter> waiters_;
};

}  // namespace oncemq
