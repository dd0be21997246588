// SPDX-License-Identifier: Apache-2.0
// EtcdClaims: what one engine has asked for, and until when. etcd ends a session, never one hold of
// it, so whoever has the session ends its holds and positions by itself. Without clock or I/O.
//
// E1  What nobody extended or asked for again until its time is to be removed, and is never
//     extended again, also if the store was not told yet.
// E2  What a call is under way for is not removed meanwhile: its answer decides.
// E3  A request whose answer did not come is in doubt until it is removed: the network may deliver
//     it later, so its removal has to make void what was sent before.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct EtcdClaim {
  std::string key;
  int64_t created = 0;  // the revision that created it; 0: not known
  bool granted = false;
  bool uncertain = false;
  std::string ahead;          // the key that it waits for; empty: none
  int64_t ahead_created = 0;  // of which incarnation
};

class EtcdClaims {
 public:
  // A request for this key is about to be sent. False: what it had before is to be removed first.
  [[nodiscard]] bool Requesting(const Token& token, const std::string& key, BootTime now);
  // Its answer came: this is what it has, until then. Doubt stays.
  void Has(const Token& token, const EtcdClaim& claim, BootTime until);
  void HasNothing(const Token& token);
  // It was not asked: this has what it had.
  void NotRequested(const Token& token);
  // No answer came.
  void Unknown(const Token& token, BootTime until);

  // False: it is nothing that could be extended.
  [[nodiscard]] bool Extending(const Token& token, BootTime now);
  // None: it was not extended.
  void Extended(const Token& token, std::optional<BootTime> until);

  // Whoever was ahead of it went: it waits for it no more.
  void AheadWent(const Token& token);

  // The store has it no more.
  void Removed(const Token& token, const EtcdClaim& claim);

  std::optional<EtcdClaim> Find(const Token& token) const;
  // Whether it holds the name, as far as its time goes.
  bool Holds(const Token& token, BootTime now) const;
  // None: the key is not ours.
  std::optional<BootTime> UntilOf(const std::string& key) const;
  // At most so many of those whose time is over; they stay until they are removed.
  std::vector<std::pair<Token, EtcdClaim>> Overdue(BootTime now, size_t most) const;
  // When the next one is.
  std::optional<BootTime> next() const;

 private:
  struct Kept {
    EtcdClaim claim;
    BootTime until;
    int calls = 0;  // under way
  };
  using All = std::map<Token, Kept>;
  // A call begins, or ends.
  void Pin(const All::iterator& at);
  void Unpin(const All::iterator& at, BootTime until);
  void Erase(const All::iterator& at);

  All all_;
  std::map<std::string, Token> by_key_;
  std::set<std::pair<BootTime, Token>> by_time_;  // of those that no call is under way for
};

}  // namespace oncemq
