// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_renewal.h"

#include <algorithm>

namespace oncemq {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;

constexpr size_t kLargestCheck = 100;  // claims in one transaction

}  // namespace

ZooKeeperRenewal::ZooKeeperRenewal(ZooKeeperLockSession& lock_session,
                                   std::span<const LockClaim> claims, std::span<Extended> answers)
    : lock_session_(lock_session), claims_(claims), answers_(answers) {}

// Before anything is sent: whoever waits for the answer counts from then, too. Only leases of what
// is held are looked at: what an earlier session had is gone, and a new one that is not connected
// yet knows no length.
Status ZooKeeperRenewal::Extend() {
  const BootTime now = SystemClock::Instance().Boot();
  return lock_session_.With([&](SessionClaims& claims) -> Status {
    for (size_t i = 0; i < claims_.size(); i++) {
      const auto* claim = claims.Find(claims_[i].token, now);
      const bool holds = claim != nullptr && claim->holds;
      if (holds) {
        if (const Status fit = lock_session_.Fits(claims_[i].lease); !fit) {
          return fit;
        }
      }
      if (holds) {
        held_.push_back({i, claim->number, claim->node, claim->recalled});
      }
    }
    for (const Held& held : held_) {
      claims.Keep(claims_[held.at].token, held.number, now + claims_[held.at].lease);
    }
    return {};
  });
}

// Its holder made the node, and whoever asks it back writes there: so the version tells.
Call ZooKeeperRenewal::Check(std::span<const Held> some) const {
  Call call{.kind = Call::Kind::kMulti};
  for (const Held& held : some) {
    call.steps.push_back(
        {.kind = Call::Kind::kCheck, .path = held.node, .version = held.recalled ? -1 : 0});
  }
  return call;
}

Status ZooKeeperRenewal::Run() {
  if (const Status fit = Extend(); !fit || held_.empty()) {
    return fit;
  }
  std::vector<std::span<const Held>> parts;
  std::vector<Call> calls;
  for (size_t at = 0; at < held_.size(); at += kLargestCheck) {
    parts.push_back(std::span(held_).subspan(at, std::min(kLargestCheck, held_.size() - at)));
    calls.push_back(Check(parts.back()));
  }
  for (const Held& held : held_) {
    answers_[held.at] = held.recalled ? Extended::kRecalled : Extended::kYes;
  }
  const auto replies = lock_session_.Run(calls);
  if (!replies) {
    return replies.error();
  }
  for (size_t i = 0; i < parts.size(); i++) {
    if ((*replies)[i].kind != Reply::Kind::kDone) {
      if (const Status done = RunEach(parts[i]); !done) {
        return done;
      }
    }
  }
  return {};
}

// One of them is not as we know it.
Status ZooKeeperRenewal::RunEach(std::span<const Held> some) {
  std::vector<Call> calls;
  for (const Held& held : some) {
    calls.push_back(Check({&held, 1}));
  }
  const auto replies = lock_session_.Run(calls);
  if (!replies) {
    return replies.error();
  }
  lock_session_.With([&](SessionClaims& claims) {
    for (size_t i = 0; i < some.size(); i++) {
      const LockClaim& claim = claims_[some[i].at];
      if ((*replies)[i].kind == Reply::Kind::kNoNode) {
        answers_[some[i].at] = Extended::kGone;
        claims.Lost(claim.token, some[i].number);
      } else if ((*replies)[i].kind == Reply::Kind::kBadVersion) {
        answers_[some[i].at] = Extended::kRecalled;
        claims.Recall(claim.token, some[i].number);
      }
    }
  });
  return {};
}

}  // namespace oncemq
