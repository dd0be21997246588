// SPDX-License-Identifier: Apache-2.0
// ZooKeeperRequest: one request, from its first flight to the answer.
//
// Z1  A position is a node that nobody passes. A name is granted where nobody is ahead that forbids
//     it.
// Z2  The grant and a check of the seal are one: the check is made with the node, which is the
//     only one there, or nobody came or went before those ahead were looked at; or it is made by a
//     write of its own, behind the look that found nobody ahead.
// Z3  A request whose answer was lost looks for its node before it makes one.
// Z4  Who is ahead and goes before we watch it costs another look, never the position.
// Z5  A request that fails says kNone only if nothing of it can be in the store.
// Z6  A node belongs to its request until the call that makes it has ended: nobody looks for it
//     before, and whoever's claim ended meanwhile hands it over to be deleted (C4). A second ask of
//     the same token is refused until then.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "zookeeper_lock_session.h"

namespace oncemq {

class ZooKeeperRequest {
 public:
  ZooKeeperRequest(ZooKeeperLockSession& lock_session, const AcquireRequest& request,
                   size_t max_waiters);
  Result<LockAnswer> Run();

 private:
  // kAgain: what was found has changed meanwhile.
  enum class Retry : unsigned char { kAgain };
  using Answer = std::variant<LockAnswer, Retry, Error>;
  using Claim = SessionClaims::Claim;

  Error OfAll(Error error);
  Answer Once();
  Answer TakeQueuePosition();
  Answer Made(const Claim& claim, const ZooKeeperReply& multi);
  Answer FindNode(const Claim& claim);
  Answer CheckTurn(const Claim& claim);
  Answer Decide(const Claim& claim, const std::vector<ZooKeeperNode>& queue,
                std::optional<uint64_t> made_last);
  Answer Confirm(const Claim& claim);
  Answer Confirmed(const Claim& claim, const ZooKeeperReply& check, const ZooKeeperReply& node);
  Answer Watch(const Claim& claim, const std::vector<ZooKeeperNode>& queue, size_t ahead);
  Answer GiveUp(std::optional<Error> why);
  Answer Granted(const Claim& claim, uint64_t created);

  // None if the store grants in the epoch of the request, by this seal.
  std::optional<Answer> Sealed(ZooKeeperLockSession::Seal& seal) const;
  ZooKeeperCall Check(const Claim& claim, int32_t seal_version) const;
  std::string PathOf(const ZooKeeperNode& node) const { return path_ + "/" + node.child; }

  ZooKeeperLockSession& lock_session_;
  const AcquireRequest& request_;
  const size_t max_waiters_;
  const std::string path_;
  const BootTime began_;
  bool no_container_ = false;  // the store has nothing of this name
  bool checked_ = false;       // nobody was ahead
};

}  // namespace oncemq
