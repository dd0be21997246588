// SPDX-License-Identifier: Apache-2.0
// ZooKeeperLockSession: one session of an engine and all that ends with it: its claims, those who
// wait in it, and what it knows of the seal.
//
// Thread safety: any thread, but the destructor.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/clients/zookeeper_session.h"
#include "oncemq/locks/hold_listeners.h"
#include "session_claims.h"
#include "session_lease.h"
#include "zookeeper_nodes.h"
#include "zookeeper_waits.h"

namespace oncemq {

// How long we are silent at most.
inline milliseconds HeartbeatIn(milliseconds session) {
  return session / 10;
}

class ZooKeeperLockSession {
 public:
  struct Seal {
    uint32_t epoch = 0;
    int32_t version = 0;
  };

  // `doubts` are told when the servers have ended it. They outlive it.
  static Result<std::shared_ptr<ZooKeeperLockSession>> Start(const ZooKeeperEndpoint& endpoint,
                                                             const ZooKeeperTimes& times,
                                                             const ZooKeeperPaths& paths,
                                                             HoldListeners& listeners);
  ~ZooKeeperLockSession();
  ZooKeeperLockSession(const ZooKeeperLockSession&) = delete;
  ZooKeeperLockSession& operator=(const ZooKeeperLockSession&) = delete;

  bool over() const { return session_->ended(); }
  const ZooKeeperPaths& paths() const { return paths_; }
  uint64_t id() const { return session_->id(); }
  // Once it is connected.
  Status Connected(milliseconds within) const { return session_->Connected(within); }
  Status Connected() const { return Connected(times_.call); }
  // Whether the session is sure to outlive such a lease. Once it was connected.
  Status Fits(milliseconds lease) const;
  // It may get another length than it was asked for, so until that is known it is looked at often.
  milliseconds Heartbeat() const {
    const milliseconds timeout = session_->timeout();
    return timeout > milliseconds(0) ? std::max(milliseconds(1), HeartbeatIn(timeout))
                                     : milliseconds(200);
  }

  Result<std::vector<ZooKeeperReply>> Run(std::span<const ZooKeeperCall> calls) {
    return session_->Run(calls);
  }
  Result<ZooKeeperReply> Run(const ZooKeeperCall& call);
  // Who asks for a name, in the order in which they came; all that was done before is seen.
  Result<std::vector<ZooKeeperNode>> Queue(std::string_view name);
  // The same out of what the store answered.
  Result<std::vector<ZooKeeperNode>> Ordered(std::string_view name,
                                             const std::vector<std::string>& children);

  // The seal as it is known, or as it is read now.
  Result<Seal> KnownSeal();
  Result<Seal> ReadSeal();
  void ForgetSeal();
  // Makes what lies above the names.
  Status MakeRoot();

  // Begins to delete what ended. Those of which nobody knows where they lie are looked for, which
  // takes round trips, if `patient`.
  void EndDue(bool patient);
  // Deletes what was given up, together, and says of each whether it was held until now.
  Result<std::vector<bool>> Delete(std::span<const std::optional<SessionClaims::Ending>> endings);
  // So that the servers keep us, and know it.
  void Beat();

  template <class Body>
  auto With(Body body) {
    MutexLock lock(mutex_);
    return body(claims_);
  }
  ZooKeeperWaits& waits() { return waits_; }

 private:
  ZooKeeperLockSession(const ZooKeeperTimes& times, ZooKeeperPaths paths, HoldListeners& listeners)
      : times_(times), paths_(std::move(paths)), listeners_(listeners) {}

  milliseconds LongestLease() const { return LongestLeaseIn(session_->timeout()); }
  void Ended();
  void DeleteSoon(const SessionClaims::Ending& ending);
  Result<std::vector<ZooKeeperCall>> Deletions(
      std::span<const std::optional<SessionClaims::Ending>> endings);

  const ZooKeeperTimes times_;
  const ZooKeeperPaths paths_;
  HoldListeners& listeners_;
  Mutex mutex_;
  SessionClaims claims_ GUARDED_BY(mutex_);
  std::optional<Seal> seal_ GUARDED_BY(mutex_);
  ZooKeeperWaits waits_;
  // Last: its threads use all of the above.
  std::unique_ptr<ZooKeeperSession> session_;
};

}  // namespace oncemq
