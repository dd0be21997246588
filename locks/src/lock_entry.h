// SPDX-License-Identifier: Apache-2.0
// LockEntry: what a lock store knows of one name, and the rules by which it grants it. Without
// clock or I/O; times are the store's.
//
// T1  A name is granted if no holder forbids it, and no waiter ahead does.
// T2  A reader forbids writers and counted ones, a counted one readers and writers; a writer
//     forbids everybody. Barging ignores the waiters ahead, but a request that can hold next to
//     others passes only waiters of its own mode: no reader ever passes a waiting writer.
// T3  A request that is repeated by its token changes nothing but times.
// T4  A hold or a position that has ended is gone for ever: no extension revives it.
// T5  A later grant has a greater fence; an idle name needs no memory but of its last one.
// T6  A counted one goes if it, all that hold and all that wait ahead of it are together no more
//     than its limit, and than the limit of each one ahead. So whichever of those whose turn it is
//     asks first, none of the others is refused. Limits are kept with waiters only: a hold counts
//     as one, whatever its own limit was.
// T7  A store whose clock may be set back gives no time by that: a hold whose end is further away
//     than its own lease ends a lease after it was seen. So does a position.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class LockEntry {
 public:
  // Tokens of waiters whose turn it may be. Asking again decides.
  using Turns = std::vector<Token>;

  // `fence`: of the grant, if it is a new one. `home`: where a waiter hears of its turn, in stores
  // that many processes share.
  LockAnswer Request(const AcquireRequest& request, const Fence& fence, BootTime now, Turns& turns,
                     uint64_t home = 0);
  Extended Extend(const LockClaim& claim, BootTime now, Turns& turns);
  Freed Free(const Token& token, BootTime now, Turns& turns);
  size_t Recall(BootTime now);
  Freed Evict(const Fence& fence, BootTime now, Turns& turns);
  // T7. `now` is no earlier than the last change of this entry.
  void CutEnds(BootTime now);
  // Forgets what has ended. True if it was anything.
  bool DropEnded(BootTime now);

  // Whether a request of this waiter would be granted now.
  bool MyTurn(const Token& token, BootTime now) const;
  bool Knows(const Token& token) const;
  std::vector<LockView::Party> Parties(BootTime now) const;
  // Of a waiter; 0 if there is none with this token.
  uint64_t HomeOf(const Token& token) const;
  // When all that is in it will have ended; for an idle one in the past.
  BootTime ends() const;
  bool idle() const { return holders_.empty() && waiters_.empty(); }
  size_t waiters() const { return waiters_.size(); }

 private:
  friend std::string EncodeLockEntry(const LockEntry& entry);
  friend std::optional<LockEntry> DecodeLockEntry(std::string_view bytes);

  struct Holder {
    Token token;
    LockMode mode;
    Fence fence;
    BootTime until;
    milliseconds lease;  // of which `until` is the end; 0: written by a program that kept none
    bool recalled;
    std::string who;
  };
  struct Waiter {
    Token token;
    LockMode mode;
    BootTime until;
    milliseconds lease;  // of its position, as above
    std::string who;
    uint64_t home = 0;
    uint32_t limit = 0;  // of a counted one
  };
  // One who wants to go, behind the first `ahead` who wait.
  struct Newcomer {
    size_t ahead;
    LockMode mode;
    uint32_t limit;
    bool barges = false;
  };

  bool MayGo(const Newcomer& one, BootTime now) const;
  size_t PositionOf(const Token& token) const;
  size_t Able(BootTime now) const;
  void AddTurns(Turns& turns, BootTime now, size_t from = 0) const;
  std::optional<size_t> Grant(const AcquireRequest& request, size_t position, const Fence& fence,
                              BootTime now);
  milliseconds Again(size_t position, BootTime now) const;

  std::vector<Holder> holders_;
  std::deque<Waiter> waiters_;
};

}  // namespace oncemq
