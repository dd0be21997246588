// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/zookeeper_locks.h"

#include <algorithm>

#include "lock_check.h"
#include "wait_queue.h"
#include "zookeeper_renewal.h"
#include "zookeeper_request.h"
#include "zookeeper_session_keeper.h"

namespace oncemq {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;

constexpr size_t kLongestSpace = 1'024;
constexpr milliseconds kLongestSession = std::chrono::hours(24);
constexpr size_t kPage = 100;  // names that are looked at together

LockCapabilities Of(const ZooKeeperLockOptions& options) {
  LockCapabilities can = ZooKeeperLockCapabilities();
  can.longest_lease = LongestLeaseIn(options.session);
  return can;
}

// One of those who ask for a name, as the store has it.
struct Requester {
  ZooKeeperNode node;
  bool holds = false;
  std::string path;
  ZooKeeperReply::Stat stat;
  std::string data;
  ZooKeeperWords words;

  Fence fence() const { return {words.epoch, stat.created}; }
};

class ZooKeeperLocks final : public LockEngine {
 public:
  ZooKeeperLocks(const ZooKeeperEndpoint& endpoint, const ZooKeeperLockOptions& options)
      : can_(Of(options)),
        max_waiters_(options.max_waiters),
        keeper_(endpoint, {options.connect, options.call, options.session},
                ZooKeeperPaths(options.space), listeners_) {}

  Status Open(milliseconds connect) { return keeper_.Open(connect); }

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    if (const Status fit = CheckCounted(request, can_); !fit) {
      return fit.error();
    }
    const auto lock_session = Connected();
    if (!lock_session) {
      return lock_session.error();
    }
    if (const Status fit = (*lock_session)->Fits(request.lease); !fit) {
      return fit.error();
    }
    (*lock_session)->EndDue(false);
    const auto answer = ZooKeeperRequest(**lock_session, request, max_waiters_).Run();
    keeper_.Reschedule();
    return answer;
  }

  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    if (const auto lock_session = keeper_.Last()) {
      lock_session->waits().Await(request.token, until, stop);
    }
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    std::fill(answers.begin(), answers.end(), Extended::kGone);
    const auto lock_session = keeper_.Last();
    if (lock_session == nullptr || lock_session->over()) {
      return {};
    }
    const Status done = ZooKeeperRenewal(*lock_session, claims, answers).Run();
    if (!done && lock_session->over()) {
      std::fill(answers.begin(), answers.end(), Extended::kGone);
      return {};
    }
    return done;
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    std::fill(answers.begin(), answers.end(), Freed::kNotHeld);
    const auto lock_session = keeper_.Last();
    if (lock_session == nullptr) {
      return {};
    }
    for (const LockClaim& claim : claims) {
      lock_session->waits().Forget(claim.token);
    }
    const Status done = FreeAll(*lock_session, claims, answers);
    keeper_.Reschedule();
    if (done || lock_session->over()) {
      return {};  // the servers have freed them
    }
    // Given up here, whatever was sent: they are deleted as soon as that can be.
    Error error = done.error();
    error.effect = Effect::kUnknown;
    return error;
  }

  // A version other than the one that the holder made asks it back; the node is its own.
  Result<size_t> Recall(std::string_view name) override {
    const auto lock_session = Connected();
    const auto requesters = lock_session ? Requesters(**lock_session, name) : lock_session.error();
    if (!requesters) {
      return requesters.error();
    }
    std::vector<Call> calls;
    for (const Requester& requester : *requesters) {
      if (requester.holds) {
        calls.push_back({.kind = Call::Kind::kSet, .path = requester.path, .data = requester.data});
      }
    }
    const auto replies = (*lock_session)->Run(calls);
    if (!replies) {
      return replies.error();
    }
    const auto done = [](const Reply& reply) { return reply.kind == Reply::Kind::kDone; };
    return static_cast<size_t>(std::count_if(replies->begin(), replies->end(), done));
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    const auto lock_session = Connected();
    const auto requesters = lock_session ? Requesters(**lock_session, name) : lock_session.error();
    if (!requesters) {
      return requesters.error();
    }
    const auto meant = [&](const Requester& requester) {
      return requester.holds && requester.fence() == fence;
    };
    const auto at = std::find_if(requesters->begin(), requesters->end(), meant);
    if (at == requesters->end()) {
      return Freed::kNotHeld;
    }
    // No other node ever has this path.
    const auto reply = (*lock_session)->Run(Call{.kind = Call::Kind::kDelete, .path = at->path});
    if (!reply) {
      return reply.error();
    }
    return reply->kind == Reply::Kind::kDone ? Freed::kYes : Freed::kNotHeld;
  }

  Result<LockView> Read(std::string_view name) override {
    const auto lock_session = Connected();
    const auto requesters = lock_session ? Requesters(**lock_session, name) : lock_session.error();
    if (!requesters) {
      return requesters.error();
    }
    LockView view{std::string(name), {}};
    for (const Requester& requester : *requesters) {
      view.parties.push_back({requester.holds, requester.node.mode,
                              requester.holds ? requester.fence() : Fence{},
                              Left(**lock_session, requester), requester.words.who});
    }
    return view;
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    const auto lock_session = Connected();
    if (!lock_session) {
      return lock_session.error();
    }
    (*lock_session)->EndDue(false);
    const std::string& root = (*lock_session)->paths().root;
    const Call calls[] = {{.kind = Call::Kind::kSync, .path = root},
                          {.kind = Call::Kind::kChildren, .path = root}};
    const auto replies = (*lock_session)->Run(calls);
    if (!replies) {
      return replies.error();
    }
    std::vector<std::string> names;
    for (const std::string& child : (*replies)[1].children) {
      if (auto name = DecodePart(child); name && *name > after) {
        names.push_back(*std::move(name));
      }
    }
    std::sort(names.begin(), names.end());
    return Held(**lock_session, names, limit);
  }

  Result<uint32_t> Seal(uint32_t epoch) override {
    const auto lock_session = Connected();
    if (!lock_session) {
      return lock_session.error();
    }
    for (;;) {
      const auto seal = (*lock_session)->ReadSeal();
      if (!seal) {
        return seal.error();
      }
      if (seal->epoch >= epoch) {
        return seal->epoch;
      }
      (*lock_session)->ForgetSeal();
      const auto reply = (*lock_session)
                             ->Run(Call{.kind = Call::Kind::kSet,
                                        .path = (*lock_session)->paths().seal,
                                        .data = std::to_string(epoch),
                                        .version = seal->version});
      if (!reply) {
        return reply.error();
      }
      if (reply->kind == Reply::Kind::kDone) {
        return epoch;
      }
    }
  }

  void Listen(HoldListener& listener) override { listeners_.Listen(listener); }
  void Unlisten(HoldListener& listener) override { listeners_.Unlisten(listener); }

 private:
  Result<std::shared_ptr<ZooKeeperLockSession>> Connected() {
    auto lock_session = keeper_.Current();
    if (lock_session) {
      if (const Status connected = (*lock_session)->Connected(); !connected) {
        return connected.error();
      }
    }
    return lock_session;
  }

  static Status FreeAll(ZooKeeperLockSession& lock_session, std::span<const LockClaim> claims,
                        std::span<Freed> answers) {
    std::vector<std::optional<SessionClaims::Ending>> endings;
    const BootTime now = SystemClock::Instance().Boot();
    lock_session.With([&](SessionClaims& known) {
      for (const LockClaim& claim : claims) {
        endings.push_back(known.GiveUp(claim.token, now));
      }
    });
    const auto freed = lock_session.Delete(endings);
    if (!freed) {
      return freed.error();
    }
    for (size_t i = 0; i < answers.size(); i++) {
      answers[i] = (*freed)[i] ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

  // Of others it is not known when they extended: what they have at most.
  static milliseconds Left(ZooKeeperLockSession& lock_session, const Requester& requester) {
    const BootTime now = SystemClock::Instance().Boot();
    const milliseconds most = requester.holds ? requester.words.lease : requester.words.queue_lease;
    if (requester.node.session != lock_session.id()) {
      return most;
    }
    return lock_session.With([&](SessionClaims& claims) {
      const auto* claim = claims.Numbered(requester.node.number, now);
      return claim == nullptr ? most : std::chrono::ceil<milliseconds>(claim->until - now);
    });
  }

  static Result<std::vector<Requester>> Requesters(ZooKeeperLockSession& lock_session,
                                                   std::string_view name) {
    if (name.size() > kLongestLockName) {  // too long a request ends the connection of all
      return Error{Code::kInvalid, Effect::kNone, "no name of a lock is as long as this"};
    }
    lock_session.EndDue(false);
    const auto queue = lock_session.Queue(name);
    if (!queue) {
      return queue.error();
    }
    const std::string path = lock_session.paths().Name(name);
    const std::vector<LockMode> modes = ModesOf(*queue);
    std::vector<Call> calls;
    for (const ZooKeeperNode& node : *queue) {
      calls.push_back({.kind = Call::Kind::kGet, .path = path + "/" + node.child});
    }
    const auto replies = lock_session.Run(calls);
    if (!replies) {
      return replies.error();
    }
    std::vector<Requester> requesters;
    for (size_t i = 0; i < queue->size(); i++) {
      const Reply& reply = (*replies)[i];
      const auto words = ParseWords(reply.data);
      if (reply.kind == Reply::Kind::kDone && words) {
        requesters.push_back({(*queue)[i], !WaitsFor(modes, i).has_value(), calls[i].path,
                              reply.stat, reply.data, *words});
      }
    }
    return requesters;
  }

  // Leaves out the containers that are empty: they go by themselves.
  static Result<std::vector<std::string>> Held(ZooKeeperLockSession& lock_session,
                                               const std::vector<std::string>& names,
                                               size_t limit) {
    std::vector<std::string> held;
    for (size_t at = 0; at < names.size() && held.size() < limit;) {
      std::vector<Call> calls;
      const size_t end = std::min(names.size(), at + kPage);
      for (size_t i = at; i < end; i++) {
        calls.push_back({.path = lock_session.paths().Name(names[i])});
      }
      const auto replies = lock_session.Run(calls);
      if (!replies) {
        return replies.error();
      }
      for (const Reply& reply : *replies) {
        if (reply.stat.children > 0 && held.size() < limit) {
          held.push_back(names[at]);
        }
        at++;
      }
    }
    return held;
  }

  const LockCapabilities can_;
  const size_t max_waiters_;
  HoldListeners listeners_;
  ZooKeeperSessionKeeper keeper_;
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenZooKeeperLocks(std::string_view address,
                                                       const ZooKeeperLockOptions& options) {
  const auto endpoint = ParseZooKeeperEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  if (options.space.size() > kLongestSpace) {
    return Error{Code::kInvalid, Effect::kNone, "the name of a space has 1,024 bytes at most"};
  }
  if (options.session < milliseconds(1) || options.session > kLongestSession) {
    return Error{Code::kInvalid, Effect::kNone, "a session lasts from a millisecond to a day"};
  }
  const auto locks = std::make_shared<ZooKeeperLocks>(*endpoint, options);
  if (const Status open = locks->Open(options.connect); !open) {
    return open.error();
  }
  return std::shared_ptr<LockEngine>(locks);
}

}  // namespace oncemq
