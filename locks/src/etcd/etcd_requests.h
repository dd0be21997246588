// SPDX-License-Identifier: Apache-2.0
// What the locks say to etcd, each one step of the store, and what its answers mean. Without I/O.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "etcd_claims.h"
#include "etcd_keys.h"
#include "etcd_session.h"
#include "oncemq/clients/etcd_client.h"

namespace oncemq {

// The gateway's price is the length of what is said. So a new request takes the short way first,
// which is for a name that nobody wants; and one that waits behind somebody asks whether it still
// does: if each of a long queue read all of it, the store would do nothing else.
enum class EtcdWay : unsigned char { kShort, kStay, kLong };

// Takes a queue position in the queue of a name; without a queue only if that grants it. `has` is
// what it has there already, for kStay.
EtcdTxn EtcdRequestTxn(const EtcdLockKeys& keys, const AcquireRequest& request,
                       const std::string& key, const EtcdSession::Ticket& ticket, EtcdWay way,
                       size_t most, const EtcdClaim& has = {});

struct EtcdRequestAnswer {
  enum class Kind : unsigned char {
    kQueue,    // asked: `mine`, or nothing was left behind
    kStays,    // where it was, behind the same one
    kSealed,   // in `epoch`, another one than was asked in
    kWanted,   // somebody wants the name, or nobody stands there: the long way is needed
    kNoTicket  // the session is another one now, or gone
  };
  Kind kind = Kind::kQueue;
  std::optional<EtcdEntry> mine;      // none: there is none
  bool fresh = false;                 // this request made it, this time or in an earlier try
  uint32_t epoch = 0;                 // of the one that made it
  std::vector<EtcdEntry> queue;       // keys, as they came
  size_t length = 0;                  // of the whole queue
  std::optional<int64_t> generation;  // of the session; none: it is gone
};
// None: it is not ours.
std::optional<EtcdRequestAnswer> EtcdRequestAnswerOf(const EtcdAnswer& answer,
                                                     const AcquireRequest& request,
                                                     const std::string& key,
                                                     const EtcdSession::Ticket& ticket,
                                                     EtcdWay way);

// Removes all of them, each by its incarnation. Those in doubt whatever they are, together with
// every request that was sent before; `ticket` is needed for that.
EtcdTxn EtcdRemoveTxn(const std::vector<std::pair<Token, EtcdClaim>>& claims,
                      const std::optional<EtcdSession::Ticket>& ticket);
// Whether the one at this place was there. `voids`: as in the question.
bool EtcdRemoved(const EtcdAnswer& answer, size_t index, bool voids);

// All of a queue, with its values.
EtcdOp EtcdQueueOf(const std::string& prefix, size_t most);
std::vector<LockMode> EtcdModesOf(const std::vector<EtcdEntry>& queue);
// If it is still the same one.
EtcdCompare EtcdSame(const std::string& key, int64_t created);

// None: no epoch.
std::optional<uint32_t> EtcdEpochOf(const std::vector<EtcdEntry>& seal);

}  // namespace oncemq
