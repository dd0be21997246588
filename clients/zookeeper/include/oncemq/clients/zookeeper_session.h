// SPDX-License-Identifier: Apache-2.0
// ZooKeeperSession: one session with an ensemble of ZooKeeper, calls on it from any thread, and
// what it is told by the servers.
//
// Promise: calls that are sent together travel together, and the servers act on them in their
// order. Every call ends by its deadline. An Error says whether a call may have been done: kNone if
// it was not sent or was refused, kUnknown if its answer did not come. The session follows a
// failover by itself and keeps its ephemeral nodes and watches as long as the servers keep it. Once
// they have ended it, ended() is true for good, and whoever goes on starts another one.
//
// Limits: a server that hangs is left for another one after two thirds of the session's timeout.
// Names of hosts are looked up without a bound in time. The C client's log level, which belongs to
// the whole process, is set to errors.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/zookeeper_endpoint.h"

namespace oncemq {

struct ZooKeeperTimes {
  milliseconds connect{5'000};
  milliseconds call{2'000};      // one flight of calls, waiting for a connection included
  milliseconds session{40'000};  // asked for; the servers have the last word
};

// One thing to do there. Paths begin with "/", which is the endpoint's chroot.
struct ZooKeeperCall {
  enum class Kind : unsigned char {
    kCreate,
    kDelete,
    kSet,
    kGet,
    kExists,
    kChildren,
    kSync,   // what follows sees all that was done before
    kCheck,  // only as a step of kMulti
    kMulti   // all of its steps, or none; kCreate, kDelete, kSet and kCheck
  };
  enum class Mode : unsigned char {
    kPersistent,
    kEphemeral,
    kEphemeralSequential,
    kContainer  // goes by itself some time after its last child; servers since 3.5.3. No step
  };
  Kind kind = Kind::kExists;
  std::string path = {};
  std::string data = {};
  Mode mode = Mode::kPersistent;
  int32_t version = -1;  // of kDelete, kSet, kCheck: the node's own; -1: any
  bool watch = false;    // of kGet: tell when the node changes, or goes
  std::vector<ZooKeeperCall> steps = {};
};

struct ZooKeeperReply {
  enum class Kind : unsigned char { kDone, kNoNode, kExists, kBadVersion, kNotEmpty };
  struct Stat {
    uint64_t created = 0;           // czxid: the number of the change that made it
    uint64_t changed = 0;           // mzxid: of the last one that set it
    uint64_t children_changed = 0;  // pzxid: of the last change among its children
    uint32_t children_changes = 0;  // cversion: how many came and went; begins again at 2^32
    int32_t version = 0;
    int32_t children = 0;
    uint64_t owner = 0;  // the session of an ephemeral node
  };
  Kind kind = Kind::kDone;
  size_t step = 0;  // of kMulti: the one that was not done, so that none was
  std::string data;
  std::vector<std::string> children;
  std::string made;  // of kMulti: the path of the node that its last kCreate made
  Stat stat;         // of kGet, kExists, kSet; of kMulti its last kSet's; of kChildren the parent's
};

// Called on a thread of the session, which they must not block; they must not destroy it.
struct ZooKeeperEars {
  std::function<void(std::string_view path)> changed;  // a node that is watched; once
  std::function<void()> ended;
};

// Thread safety: any thread, but the destructor.
class ZooKeeperSession {
 public:
  // Connects in the background. Failures: a host's name is not known; no threads.
  static Result<std::unique_ptr<ZooKeeperSession>> Start(const ZooKeeperEndpoint& endpoint,
                                                         const ZooKeeperTimes& times,
                                                         ZooKeeperEars ears);
  // Ends the session, and with it its ephemeral nodes, in bounded time.
  ~ZooKeeperSession();
  ZooKeeperSession(const ZooKeeperSession&) = delete;
  ZooKeeperSession& operator=(const ZooKeeperSession&) = delete;

  // Waits until it is connected, for so long.
  Status Connected(milliseconds within);
  // All in one flight; an answer to each in the same order.
  Result<std::vector<ZooKeeperReply>> Run(std::span<const ZooKeeperCall> calls);
  // Without waiting. `done` is called once: on a thread of the session, which it must not block,
  // or at once when it is not connected.
  void Send(const ZooKeeperCall& call, std::function<void(const Result<ZooKeeperReply>&)> done);

  bool ended() const;
  // Both are known once it was connected.
  uint64_t id() const;
  milliseconds timeout() const;

 private:
  struct Parts;
  explicit ZooKeeperSession(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
