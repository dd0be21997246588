// SPDX-License-Identifier: Apache-2.0
// ZooKeeperRenewal: claims extended together. The time is ours to count; the store is asked whether
// the nodes are there still, in a transaction, which no server can answer that has lost its
// ensemble, and none for a session that has ended.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "zookeeper_lock_session.h"

namespace oncemq {

class ZooKeeperRenewal {
 public:
  // `answers` say kGone before.
  ZooKeeperRenewal(ZooKeeperLockSession& lock_session, std::span<const LockClaim> claims,
                   std::span<Extended> answers);
  Status Run();

 private:
  struct Held {
    size_t at;  // in the claims
    uint64_t number;
    std::string node;
    bool recalled;
  };

  Status Extend();
  Status RunEach(std::span<const Held> some);
  ZooKeeperCall Check(std::span<const Held> some) const;

  ZooKeeperLockSession& lock_session_;
  const std::span<const LockClaim> claims_;
  const std::span<Extended> answers_;
  std::vector<Held> held_;
};

}  // namespace oncemq
