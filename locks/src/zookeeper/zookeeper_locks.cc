// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/zookeeper_locks.h"

#include <algorithm>

#include "lock_check.h"
#include "wait_queue.h"
#include "zookeeper_keeper.h"
#include "zookeeper_renewal.h"
#include "zookeeper_request.h"

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
                ZooKeeperPaths(options.space), doubts_) {}

  Status Open(milliseconds connect) { return keeper_.Open(connect); }

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Ask(const AcquireRequest& request) override {
    if (const Status fit = CheckCounted(request, can_); !fit) {
      return fit.error();
    }
    const auto life = Connected();
    if (!life) {
      return life.error();
    }
    if (const Status fit = (*life)->Fits(request.lease); !fit) {
      return fit.error();
    }
    (*life)->EndDue(false);
    const auto answer = ZooKeeperRequest(**life, request, max_waiters_).Run();
    keeper_.LookAgain();
    return answer;
  }

  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    if (const auto life = keeper_.Last()) {
      life->waits().Await(request.token, until, stop);
    }
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    std::fill(answers.begin(), answers.end(), Extended::kGone);
    const auto life = keeper_.Last();
    if (life == nullptr || life->over()) {
      return {};
    }
    const Status done = ZooKeeperRenewal(*life, claims, answers).Run();
    if (!done && life->over()) {
      std::fill(answers.begin(), answers.end(), Extended::kGone);
      return {};
    }
    return done;
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    std::fill(answers.begin(), answers.end(), Freed::kNotHeld);
    const auto life = keeper_.Last();
    if (life == nullptr) {
      return {};
    }
    for (const LockClaim& claim : claims) {
      life->waits().Forget(claim.token);
    }
    const Status done = FreeAll(*life, claims, answers);
    keeper_.LookAgain();
    if (done || life->over()) {
      return {};  // the servers have freed them
    }
    // Given up here, whatever was sent: they are deleted as soon as that can be.
    Error error = done.error();
    error.effect = Effect::kUnknown;
    return error;
  }

  // A version other than the one that the holder made asks it back; the node is its own.
  Result<size_t> AskBack(std::string_view name) override {
    const auto life = Connected();
    const auto askers = life ? Askers(**life, name) : life.error();
    if (!askers) {
      return askers.error();
    }
    std::vector<Call> calls;
    for (const Requester& requester : *askers) {
      if (requester.holds) {
        calls.push_back({.kind = Call::Kind::kSet, .path = requester.path, .data = requester.data});
      }
    }
    const auto replies = (*life)->Run(calls);
    if (!replies) {
      return replies.error();
    }
    const auto done = [](const Reply& reply) { return reply.kind == Reply::Kind::kDone; };
    return static_cast<size_t>(std::count_if(replies->begin(), replies->end(), done));
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    const auto life = Connected();
    const auto askers = life ? Askers(**life, name) : life.error();
    if (!askers) {
      return askers.error();
    }
    const auto meant = [&](const Requester& requester) {
      return requester.holds && requester.fence() == fence;
    };
    const auto at = std::find_if(askers->begin(), askers->end(), meant);
    if (at == askers->end()) {
      return Freed::kNotHeld;
    }
    // No other node ever has this path.
    const auto reply = (*life)->Run(Call{.kind = Call::Kind::kDelete, .path = at->path});
    if (!reply) {
      return reply.error();
    }
    return reply->kind == Reply::Kind::kDone ? Freed::kYes : Freed::kNotHeld;
  }

  Result<LockView> Look(std::string_view name) override {
    const auto life = Connected();
    const auto askers = life ? Askers(**life, name) : life.error();
    if (!askers) {
      return askers.error();
    }
    LockView view{std::string(name), {}};
    for (const Requester& requester : *askers) {
      view.parties.push_back({requester.holds, requester.node.mode,
                              requester.holds ? requester.fence() : Fence{},
                              Left(**life, requester), requester.words.who});
    }
    return view;
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    const auto life = Connected();
    if (!life) {
      return life.error();
    }
    (*life)->EndDue(false);
    const std::string& root = (*life)->paths().root;
    const Call calls[] = {{.kind = Call::Kind::kSync, .path = root},
                          {.kind = Call::Kind::kChildren, .path = root}};
    const auto replies = (*life)->Run(calls);
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
    return Held(**life, names, limit);
  }

  Result<uint32_t> Seal(uint32_t epoch) override {
    const auto life = Connected();
    if (!life) {
      return life.error();
    }
    for (;;) {
      const auto seal = (*life)->ReadSeal();
      if (!seal) {
        return seal.error();
      }
      if (seal->epoch >= epoch) {
        return seal->epoch;
      }
      (*life)->ForgetSeal();
      const auto reply = (*life)->Run(Call{.kind = Call::Kind::kSet,
                                           .path = (*life)->paths().seal,
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

  void Listen(DoubtListener& listener) override { doubts_.Listen(listener); }
  void Unlisten(DoubtListener& listener) override { doubts_.Unlisten(listener); }

 private:
  Result<std::shared_ptr<ZooKeeperLife>> Connected() {
    auto life = keeper_.Current();
    if (life) {
      if (const Status connected = (*life)->Connected(); !connected) {
        return connected.error();
      }
    }
    return life;
  }

  static Status FreeAll(ZooKeeperLife& life, std::span<const LockClaim> claims,
                        std::span<Freed> answers) {
    std::vector<std::optional<SessionClaims::Ending>> endings;
    const BootTime now = SystemClock::Instance().Boot();
    life.With([&](SessionClaims& known) {
      for (const LockClaim& claim : claims) {
        endings.push_back(known.GiveUp(claim.token, now));
      }
    });
    const auto freed = life.Delete(endings);
    if (!freed) {
      return freed.error();
    }
    for (size_t i = 0; i < answers.size(); i++) {
      answers[i] = (*freed)[i] ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

  // Of others it is not known when they extended: what they have at most.
  static milliseconds Left(ZooKeeperLife& life, const Requester& requester) {
    const BootTime now = SystemClock::Instance().Boot();
    const milliseconds most = requester.holds ? requester.words.lease : requester.words.queue_lease;
    if (requester.node.session != life.id()) {
      return most;
    }
    return life.With([&](SessionClaims& claims) {
      const auto* claim = claims.Numbered(requester.node.number, now);
      return claim == nullptr ? most : std::chrono::ceil<milliseconds>(claim->until - now);
    });
  }

  static Result<std::vector<Requester>> Askers(ZooKeeperLife& life, std::string_view name) {
    if (name.size() > kLongestLockName) {  // too long a request ends the connection of all
      return Error{Code::kInvalid, Effect::kNone, "no name of a lock is as long as this"};
    }
    life.EndDue(false);
    const auto queue = life.Queue(name);
    if (!queue) {
      return queue.error();
    }
    const std::string path = life.paths().Name(name);
    const std::vector<LockMode> modes = ModesOf(*queue);
    std::vector<Call> calls;
    for (const ZooKeeperNode& node : *queue) {
      calls.push_back({.kind = Call::Kind::kGet, .path = path + "/" + node.child});
    }
    const auto replies = life.Run(calls);
    if (!replies) {
      return replies.error();
    }
    std::vector<Requester> askers;
    for (size_t i = 0; i < queue->size(); i++) {
      const Reply& reply = (*replies)[i];
      const auto words = ParseWords(reply.data);
      if (reply.kind == Reply::Kind::kDone && words) {
        askers.push_back({(*queue)[i], !WaitsFor(modes, i).has_value(), calls[i].path, reply.stat,
                          reply.data, *words});
      }
    }
    return askers;
  }

  // Leaves out the containers that are empty: they go by themselves.
  static Result<std::vector<std::string>> Held(ZooKeeperLife& life,
                                               const std::vector<std::string>& names,
                                               size_t limit) {
    std::vector<std::string> held;
    for (size_t at = 0; at < names.size() && held.size() < limit;) {
      std::vector<Call> calls;
      const size_t end = std::min(names.size(), at + kPage);
      for (size_t i = at; i < end; i++) {
        calls.push_back({.path = life.paths().Name(names[i])});
      }
      const auto replies = life.Run(calls);
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
  LockDoubts doubts_;
  ZooKeeperKeeper keeper_;
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
