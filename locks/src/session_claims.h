// SPDX-License-Identifier: Apache-2.0
// SessionClaims: holds and positions in a store that ends what is there with the session that made
// it, not with a lease. Whoever keeps the session keeps the leases too: this knows each claim,
// where it lies in the store, and when it is to be deleted there. Without clock or I/O.
//
// C1  A claim whose time is over, or that was given up, is never found again (T4).
// C2  What lies in the store for it is handed out for deletion, to one at a time, again and again
//     until it is known to be gone: what was left behind would hold the name for ever.
// C3  A claim that the store may have without our knowing where is handed out too.
// C4  Not before the call that makes it has ended: until then nothing is to be found of it, and
//     something may come. What came for a claim that ended meanwhile is handed out then.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/fence.h"
#include "oncemq/base/token.h"

namespace oncemq {

class SessionClaims {
 public:
  struct Claim {
    uint64_t number = 0;  // of this claim and no other one of the session
    std::string name;
    std::string node;       // where it lies; empty: nowhere, or nobody told us where
    bool under_way = true;  // the call that makes it
    bool holds = false;
    bool recalled = false;
    uint32_t epoch = 0;
    Fence fence;
    BootTime until{};
  };
  // To be deleted.
  struct Ending {
    uint64_t number = 0;
    Token token;
    std::string name;
    std::string node;
    bool held = false;  // until it was given up
  };

  // A new position, for a call that is about to be sent. It ends with LiesAt(), Lost() or
  // Unanswered(). None: there is a claim of this token, begun by somebody else.
  std::optional<Claim> Begin(const Token& token, std::string_view name, uint32_t epoch,
                             BootTime until);
  // A claim that lives, to be read until the next call; none: it ended, or never was.
  const Claim* Find(const Token& token, BootTime now);
  const Claim* Numbered(uint64_t number, BootTime now);

  // Each is false, and keeps nothing alive, if this very claim has ended. Where it lies is kept for
  // its deletion even so.
  bool LiesAt(const Token& token, uint64_t number, std::string_view node);
  bool Holds(const Token& token, uint64_t number, const Fence& fence, BootTime until);
  bool Keep(const Token& token, uint64_t number, BootTime until);
  bool Recall(const Token& token, uint64_t number);
  // It is not in the store, and will not be.
  void Lost(const Token& token, uint64_t number);
  // The call that makes it has ended, and nobody knows how.
  void Unanswered(const Token& token, uint64_t number);

  // Whether the store may have something of it.
  bool MayHave(const Token& token) const;

  // Gives a claim up, or what is left of it, for whoever asks to delete. None: nothing can be
  // deleted, or not yet (C4).
  std::optional<Ending> GiveUp(const Token& token, BootTime now);
  // All that is to be deleted and that nobody deletes.
  std::vector<Ending> Due(BootTime now);
  // What came of it.
  void Gone(uint64_t number);
  void Failed(uint64_t number);
  // With the session all of it ended.
  void Clear();

  // When the first claim ends by itself.
  std::optional<BootTime> next() const;
  // Whether anything waits for another try.
  bool failing() const { return !left_.empty(); }
  size_t size() const { return claims_.size() + pending_.size() + left_.size() + deleting_.size(); }

 private:
  Claim* Same(const Token& token, uint64_t number);
  const Ending* Left(const Token& token) const;
  void Move(const Token& token, Claim& claim, BootTime until);
  Ending Erase(std::map<Token, Claim>::iterator at);
  void End(std::map<Token, Claim>::iterator at);
  void CallEnded(uint64_t number, std::string_view node);

  uint64_t last_number_ = 0;
  std::map<Token, Claim> claims_;
  // Each claim has one number and one end. An ended one stands in one of the last three maps.
  std::map<uint64_t, Token> numbers_;          // of claims_
  std::set<std::pair<BootTime, Token>> ends_;  // of claims_
  std::map<uint64_t, Ending> pending_;         // by number: ended, its call under way
  std::map<uint64_t, Ending> left_;            // nobody deletes it
  std::map<uint64_t, Ending> deleting_;
};

}  // namespace oncemq
