// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_request.h"

#include <algorithm>

#include "wait_queue.h"

namespace oncemq {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;
using Kind = LockAnswer::Kind;

// Each look again means that somebody else came or went between two flights.
constexpr int kMostAttempts = 20;

}  // namespace

ZooKeeperRequest::ZooKeeperRequest(ZooKeeperLockSession& lock_session,
                                   const AcquireRequest& request, size_t max_waiters)
    : lock_session_(lock_session),
      request_(request),
      max_waiters_(max_waiters),
      path_(lock_session.paths().Name(request.name)),
      began_(SystemClock::Instance().Boot()) {}

Result<LockAnswer> ZooKeeperRequest::Run() {
  for (int attempt = 0; attempt < kMostAttempts; attempt++) {
    const Answer answer = Once();
    if (const auto* error = std::get_if<Error>(&answer)) {
      return OfAll(*error);
    }
    if (const auto* found = std::get_if<LockAnswer>(&answer)) {
      return *found;
    }
  }
  return Error{Code::kBusy, Effect::kUnknown, "those who ask for this name change too fast"};
}

// It says what came of one flight. What an earlier one made may be there all the same.
Error ZooKeeperRequest::OfAll(Error error) {
  const bool left =
      lock_session_.With([&](SessionClaims& claims) { return claims.MayHave(request_.token); });
  if (left) {
    error.effect = Effect::kUnknown;
  }
  return error;
}

ZooKeeperRequest::Answer ZooKeeperRequest::Once() {
  const auto claim = lock_session_.With([&](SessionClaims& claims) {
    const Claim* found = claims.Find(request_.token, SystemClock::Instance().Boot());
    return found == nullptr ? std::nullopt : std::optional(*found);
  });
  if (!claim) {
    return TakeQueuePosition();
  }
  if (claim->under_way) {
    return Error{Code::kUnavailable, Effect::kUnknown, "somebody asks by this token just now"};
  }
  if (claim->node.empty()) {
    return FindNode(*claim);
  }
  return claim->holds ? Confirm(*claim) : CheckTurn(*claim);
}

// What we know may be old, so it is read again before anybody is refused.
std::optional<ZooKeeperRequest::Answer> ZooKeeperRequest::Sealed(
    ZooKeeperLockSession::Seal& seal) const {
  auto known = lock_session_.KnownSeal();
  if (known && known->epoch != request_.epoch) {
    known = lock_session_.ReadSeal();
  }
  if (!known) {
    return known.error();
  }
  seal = *known;
  if (seal.epoch == request_.epoch) {
    return std::nullopt;
  }
  return LockAnswer{Kind::kSealed, Fence{seal.epoch, 0}, milliseconds(0)};
}

// The store's word that the seal is as we know it, and our node there. As it is written, no server
// that lost its ensemble can give it.
Call ZooKeeperRequest::Check(const Claim& claim, int32_t seal_version) const {
  const Call seal{
      .kind = Call::Kind::kCheck, .path = lock_session_.paths().seal, .version = seal_version};
  const Call node{.kind = Call::Kind::kCheck, .path = claim.node};
  return {.kind = Call::Kind::kMulti, .steps = {seal, node}};
}

ZooKeeperRequest::Answer ZooKeeperRequest::TakeQueuePosition() {
  ZooKeeperLockSession::Seal seal;
  if (const auto sealed = Sealed(seal)) {
    return *sealed;
  }
  if (!request_.queue && !checked_) {
    // Most who do not queue are refused: without a write, and without standing in anybody's way.
    const auto queue = lock_session_.Queue(request_.name);
    if (!queue) {
      return queue.error();
    }
    std::vector<LockMode> modes = ModesOf(*queue);
    modes.push_back(request_.mode);
    if (WaitsFor(modes, modes.size() - 1)) {
      return LockAnswer{};
    }
    checked_ = true;
  }
  const BootTime ends = began_ + std::max(request_.lease, request_.queue_lease);
  const auto claim = lock_session_.With([&](SessionClaims& claims) {
    return claims.Begin(request_.token, request_.name, request_.epoch, ends);
  });
  if (!claim) {
    return Retry::kAgain;  // somebody else asks by this token
  }
  const Call check{
      .kind = Call::Kind::kCheck, .path = lock_session_.paths().seal, .version = seal.version};
  const Call make{
      .kind = Call::Kind::kCreate,
      .path = path_ + "/" + ChildPrefix(request_.mode, lock_session_.id(), claim->number),
      .data =
          ToText({request_.epoch, request_.lease, request_.queue_lease, std::string(request_.who)}),
      .mode = Call::Mode::kEphemeralSequential};
  // Its answer says what nothing else in a transaction does: its number, and who is there.
  const Call mark{.kind = Call::Kind::kSet, .path = path_};
  std::vector<Call> calls;
  if (no_container_) {
    calls.push_back({.kind = Call::Kind::kCreate, .path = path_, .mode = Call::Mode::kContainer});
  }
  calls.push_back({.kind = Call::Kind::kMulti, .steps = {check, make, mark}});
  const auto replies = lock_session_.Run(calls);
  if (!replies) {
    const bool none = replies.error().effect == Effect::kNone;
    lock_session_.With([&](SessionClaims& claims) {
      none ? claims.Lost(request_.token, claim->number)
           : claims.Unanswered(request_.token, claim->number);
    });
    return replies.error();
  }
  return Made(*claim, replies->back());
}

ZooKeeperRequest::Answer ZooKeeperRequest::Made(const Claim& claim, const Reply& multi) {
  if (multi.kind != Reply::Kind::kDone) {
    lock_session_.With([&](SessionClaims& claims) { claims.Lost(request_.token, claim.number); });
    if (multi.step == 0) {
      lock_session_.ForgetSeal();
    }
    if (no_container_ && multi.step == 0) {
      // One that was never used would not go by itself.
      const auto gone = lock_session_.Run(Call{.kind = Call::Kind::kDelete, .path = path_});
      if (!gone) {
        return gone.error();
      }
    }
    no_container_ = multi.step == 1 && multi.kind == Reply::Kind::kNoNode;
    return Retry::kAgain;
  }
  Claim queued = claim;
  queued.node = multi.made;
  const bool lives = lock_session_.With([&](SessionClaims& claims) {
    return claims.LiesAt(request_.token, claim.number, queued.node);
  });
  if (!lives) {
    lock_session_.EndDue(false);  // before the next node of this request, which would be behind it
    return Retry::kAgain;
  }
  if (multi.stat.children == 1) {
    return Granted(queued, multi.stat.changed);
  }
  const auto behind = lock_session_.Run(Call{.kind = Call::Kind::kChildren, .path = path_});
  const auto queue =
      behind ? lock_session_.Ordered(request_.name, behind->children) : behind.error();
  if (!queue) {
    return queue.error();
  }
  const auto mine = [&](const ZooKeeperNode& node) { return PathOf(node) == queued.node; };
  if (std::none_of(queue->begin(), queue->end(), mine)) {
    lock_session_.With([&](SessionClaims& claims) { claims.Lost(request_.token, claim.number); });
    return Retry::kAgain;  // somebody deleted it already
  }
  const bool since = !SameChildren(multi.stat, behind->stat);
  return Decide(queued, *queue, since ? std::nullopt : std::optional(multi.stat.changed));
}

// Z3.
ZooKeeperRequest::Answer ZooKeeperRequest::FindNode(const Claim& claim) {
  const auto queue = lock_session_.Queue(request_.name);
  if (!queue) {
    return queue.error();
  }
  const auto mine = [&](const ZooKeeperNode& node) {
    return node.session == lock_session_.id() && node.number == claim.number;
  };
  const auto at = std::find_if(queue->begin(), queue->end(), mine);
  lock_session_.With([&](SessionClaims& claims) {
    if (at == queue->end()) {
      claims.Lost(request_.token, claim.number);
    } else {
      claims.LiesAt(request_.token, claim.number, PathOf(*at));
    }
  });
  return Retry::kAgain;
}

// Whoever was woken expects its turn, so the check travels with the look.
ZooKeeperRequest::Answer ZooKeeperRequest::CheckTurn(const Claim& claim) {
  const bool woken = lock_session_.waits().Woken(request_.token);
  ZooKeeperLockSession::Seal seal;
  if (const auto sealed = Sealed(seal)) {
    return *sealed;
  }
  std::vector<Call> calls{{.kind = Call::Kind::kChildren, .path = path_}};
  if (woken) {
    calls.push_back(Check(claim, seal.version));
    calls.push_back({.path = claim.node});
  } else {
    calls.push_back({.kind = Call::Kind::kGet, .path = lock_session_.paths().seal});
  }
  const auto replies = lock_session_.Run(calls);
  if (!replies) {
    return replies.error();
  }
  const auto queue = lock_session_.Ordered(request_.name, replies->front().children);
  if (!queue) {
    return queue.error();
  }
  if (!woken && ParseEpoch((*replies)[1].data) != request_.epoch) {
    lock_session_.ForgetSeal();
    return Retry::kAgain;
  }
  const auto mine = [&](const ZooKeeperNode& node) { return PathOf(node) == claim.node; };
  const auto at = std::find_if(queue->begin(), queue->end(), mine);
  if (at == queue->end()) {
    lock_session_.With([&](SessionClaims& claims) { claims.Lost(request_.token, claim.number); });
    return Retry::kAgain;  // deleted by somebody: a new queue position
  }
  if (claim.epoch != request_.epoch) {
    return GiveUp(std::nullopt);  // of another epoch than its fence would be
  }
  const auto position = static_cast<size_t>(at - queue->begin());
  if (woken && !WaitsFor(ModesOf(*queue), position)) {
    return Confirmed(claim, (*replies)[1], (*replies)[2]);
  }
  return Decide(claim, *queue, std::nullopt);
}

ZooKeeperRequest::Answer ZooKeeperRequest::Decide(const Claim& claim,
                                                  const std::vector<ZooKeeperNode>& queue,
                                                  std::optional<uint64_t> made_last) {
  const std::vector<LockMode> modes = ModesOf(queue);
  const auto mine = [&](const ZooKeeperNode& node) { return PathOf(node) == claim.node; };
  const auto position =
      static_cast<size_t>(std::find_if(queue.begin(), queue.end(), mine) - queue.begin());
  const auto ahead = WaitsFor(modes, position);
  if (!ahead) {
    return made_last ? Granted(claim, *made_last) : Confirm(claim);
  }
  if (!request_.queue) {
    return GiveUp(std::nullopt);
  }
  size_t holders = 0;
  while (!WaitsFor(modes, holders)) {
    holders++;
  }
  if (position - holders >= max_waiters_) {
    return GiveUp(
        Error{Code::kFull, Effect::kNone, "more wait for this name than max_waiters allows"});
  }
  return Watch(claim, queue, *ahead);
}

ZooKeeperRequest::Answer ZooKeeperRequest::Confirm(const Claim& claim) {
  ZooKeeperLockSession::Seal seal;
  if (const auto sealed = Sealed(seal)) {
    return *sealed;
  }
  const Call calls[] = {Check(claim, seal.version), {.path = claim.node}};
  const auto replies = lock_session_.Run(calls);
  if (!replies) {
    return replies.error();
  }
  return Confirmed(claim, (*replies)[0], (*replies)[1]);
}

ZooKeeperRequest::Answer ZooKeeperRequest::Confirmed(const Claim& claim, const Reply& check,
                                                     const Reply& node) {
  const bool checked = check.kind == Reply::Kind::kDone;
  if (checked && node.kind == Reply::Kind::kDone) {
    return Granted(claim, node.stat.created);
  }
  if (check.kind != Reply::Kind::kDone && check.step == 0) {
    lock_session_.ForgetSeal();
  } else {
    lock_session_.With([&](SessionClaims& claims) { claims.Lost(request_.token, claim.number); });
  }
  return Retry::kAgain;
}

ZooKeeperRequest::Answer ZooKeeperRequest::Granted(const Claim& claim, uint64_t created) {
  lock_session_.waits().Forget(request_.token);
  const Fence fence{claim.epoch, created};
  const BootTime until = began_ + request_.lease;
  const bool lives = lock_session_.With([&](SessionClaims& claims) {
    return claims.Holds(request_.token, claim.number, fence, until);
  });
  if (!lives) {
    return Retry::kAgain;  // it took longer than it was to last
  }
  return LockAnswer{Kind::kGranted, fence, milliseconds(0)};
}

ZooKeeperRequest::Answer ZooKeeperRequest::Watch(const Claim& claim,
                                                 const std::vector<ZooKeeperNode>& queue,
                                                 size_t ahead) {
  const std::string path = PathOf(queue[ahead]);
  lock_session_.waits().Expect(request_.token, path);
  const auto reply = lock_session_.Run(Call{.kind = Call::Kind::kGet, .path = path, .watch = true});
  if (!reply) {
    lock_session_.waits().Forget(request_.token);
    return reply.error();
  }
  if (reply->kind != Reply::Kind::kDone) {
    return Retry::kAgain;  // Z4
  }
  const auto words = ParseWords(reply->data);
  const bool holds = !WaitsFor(ModesOf(queue), ahead);
  const milliseconds lasts =
      words ? (holds ? words->lease : words->queue_lease) : request_.queue_lease;
  const bool lives = lock_session_.With([&](SessionClaims& claims) {
    return claims.Keep(request_.token, claim.number, began_ + request_.queue_lease);
  });
  if (!lives) {
    return Retry::kAgain;
  }
  return LockAnswer{Kind::kQueued, {}, std::max(milliseconds(1), lasts)};
}

// Busy, or the error, once nothing is left behind.
ZooKeeperRequest::Answer ZooKeeperRequest::GiveUp(std::optional<Error> why) {
  lock_session_.waits().Forget(request_.token);
  const auto ending = lock_session_.With([&](SessionClaims& claims) {
    return claims.GiveUp(request_.token, SystemClock::Instance().Boot());
  });
  if (const auto gone = lock_session_.Delete({&ending, 1}); !gone) {
    return gone.error();
  }
  if (why) {
    return *why;
  }
  return request_.queue ? Answer(Retry::kAgain) : LockAnswer{};
}

}  // namespace oncemq
