// SPDX-License-Identifier: Apache-2.0
#include "etcd_locks.h"

#include <algorithm>

#include "lock_check.h"
#include "renewal_time.h"
#include "wait_queue.h"

namespace oncemq {
namespace {

constexpr size_t kLargestBatch = 100;  // etcd takes 128 operations at a time
constexpr int kMostTries = 5;

milliseconds Left(BootTime until, BootTime now) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

Error Strange() {
  return {Code::kCorrupt, Effect::kUnknown, "etcd has something there that is not ours"};
}

Error Moving() {
  return {Code::kUnavailable, Effect::kUnknown, "etcd changes its leader again and again"};
}

// Only a switchboard raises epochs. A store that was sealed once refuses every domain without one.
Error WentBack(uint32_t epoch) {
  return {
      Code::kCorrupt, Effect::kNone,
      std::string("etcd went back to an earlier state, as by a restore, so fences would repeat: ") +
          (epoch > 0 ? "switch to another store, or call off the switch under way; each step "
                       "seals the stores with a higher epoch"
                     : "end all processes that use this space, clear the fences at its "
                       "targets, and begin with another space") +
          " (docs/lock_engines.md)"};
}

// Whoever waits behind somebody only wants to know whether that changed.
EtcdWay WayOf(const AcquireRequest& request, const EtcdClaim& has) {
  const bool waits = request.queue && !has.granted && !has.uncertain && !has.ahead.empty();
  return waits ? EtcdWay::kStay : EtcdWay::kLong;
}

}  // namespace

Result<EtcdRequestAnswer> EtcdLocks::SendRequest(const AcquireRequest& request,
                                                 const std::string& key,
                                                 const std::optional<EtcdClaim>& has) {
  using Answer = EtcdRequestAnswer::Kind;
  EtcdWay way = has ? WayOf(request, *has) : EtcdWay::kShort;
  bool requested = false;
  bool made = false;
  const auto failed = [&](Error error) {
    error.effect = requested ? Effect::kUnknown : error.effect;
    return error;
  };
  for (int tries = 0; tries < kMostTries; tries++) {
    if (!session_.Allows(request.epoch)) {
      return failed(WentBack(request.epoch));
    }
    const auto ticket = session_.Until(BootNow() + request.lease);
    if (!ticket) {
      return failed(ticket.error());
    }
    const auto answer = client_->Run(
        EtcdRequestTxn(keys_, request, key, *ticket, way, most_ + 1, has.value_or(EtcdClaim())));
    if (!answer) {
      return failed(answer.error());
    }
    auto read = EtcdRequestAnswerOf(*answer, request, key, *ticket, way);
    if (!read) {
      return Strange();
    }
    requested = requested || read->mine;
    made = made || read->fresh;
    read->fresh = made;
    way = EtcdWay::kLong;
    if (read->kind == Answer::kNoTicket) {
      session_.Found(*ticket, read->generation);
    }
    const bool proven = session_.Proves(answer->header, *ticket) && session_.Allows(request.epoch);
    const bool busy = !request.queue && request.mode == LockMode::kExclusive;
    if (!proven || read->kind == Answer::kNoTicket || (read->kind == Answer::kWanted && !busy)) {
      continue;
    }
    if (!read->mine || read->mine->lease == ticket->lease) {
      return *std::move(read);
    }
    // Of a session that is given up: nobody acknowledges that any more.
    const auto removed =
        Remove({{request.token, {.key = read->mine->key, .created = read->mine->created}}});
    if (!removed) {
      return failed(removed.error());
    }
  }
  return failed(Moving());
}

Result<LockAnswer> EtcdLocks::Request(const AcquireRequest& request) {
  if (const Status fit = CheckCounted(request, capabilities()); !fit) {
    return fit.error();
  }
  if (request.lease > session_.LongestLease()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "with this session etcd holds names for " +
                     std::to_string(session_.LongestLease().count()) + " ms at most"};
  }
  const std::string key = keys_.Request(request.name, request.mode, request.token);
  std::optional<EtcdClaim> has;
  for (int tries = 0;; tries++) {
    if (const Status done = RemoveOverdue(); !done) {
      return done.error();
    }
    MutexLock lock(mutex_);
    has = claims_.Find(request.token);
    if (claims_.Requesting(request.token, key, BootNow())) {
      break;
    }
    if (tries >= kMostTries) {
      return Error{Code::kUnavailable, Effect::kNone, "what had ended is not removed yet"};
    }
  }
  const auto answer = SendRequest(request, key, has);
  MutexLock lock(mutex_);
  if (!answer && answer.error().effect == Effect::kUnknown) {
    claims_.Unknown(request.token, BootNow() + std::max(request.lease, request.queue_lease));
    Changed();
    return answer.error();
  }
  if (!answer || answer->kind == EtcdRequestAnswer::Kind::kSealed) {
    if (answer && answer->fresh) {
      // made before it was sealed: to be removed, at once
      claims_.Unknown(request.token, BootNow());
      Changed();
    } else {
      claims_.NotRequested(request.token);
    }
    return answer ? Result<LockAnswer>(
                        LockAnswer{LockAnswer::Kind::kSealed, {answer->epoch, 0}, milliseconds(0)})
                  : answer.error();
  }
  if (answer->kind == EtcdRequestAnswer::Kind::kStays) {
    return Waits(request, *has);
  }
  if (!answer->mine) {
    claims_.HasNothing(request.token);
    return LockAnswer{};
  }
  return InQueue(request, *answer);
}

LockAnswer EtcdLocks::Waits(const AcquireRequest& request, const EtcdClaim& claim) {
  const BootTime now = BootNow();
  claims_.Has(request.token, claim, now + request.queue_lease);
  Changed();
  const auto ends = claims_.UntilOf(claim.ahead);
  return LockAnswer{
      LockAnswer::Kind::kQueued, {}, ends ? Left(*ends, now) : session_.LongestLease()};
}

// Its position in the queue says what came of it.
Result<LockAnswer> EtcdLocks::InQueue(const AcquireRequest& request,
                                      const EtcdRequestAnswer& answer) {
  const BootTime now = BootNow();
  const EtcdEntry& mine = *answer.mine;
  EtcdClaim claim{.key = mine.key, .created = mine.created};
  const auto same = [&](const EtcdEntry& entry) { return entry.key == mine.key; };
  const auto at = std::find_if(answer.queue.begin(), answer.queue.end(), same);
  const auto ahead =
      at == answer.queue.end()
          ? std::nullopt
          : WaitsFor(EtcdModesOf(answer.queue), static_cast<size_t>(at - answer.queue.begin()));
  const bool full = at == answer.queue.end() || (ahead && answer.fresh && answer.length > most_);
  if (full) {
    claims_.Has(request.token, claim, now);  // to be removed, at once
    Changed();
    return Error{Code::kFull, Effect::kNone, "more want this name than max_waiters allows"};
  }
  if (!ahead) {
    claim.granted = true;
    claims_.Has(request.token, claim, now + request.lease);
    Changed();
    return LockAnswer{LockAnswer::Kind::kGranted,
                      {answer.epoch, static_cast<uint64_t>(mine.created)},
                      milliseconds(0)};
  }
  const EtcdEntry& before = answer.queue[*ahead];
  claim.ahead = before.key;
  claim.ahead_created = before.created;
  if (request.queue) {
    return Waits(request, claim);
  }
  claims_.Has(request.token, claim, claims_.UntilOf(mine.key).value_or(now));
  Changed();
  return LockAnswer{};  // the place that it had before stays
}

Result<bool> EtcdLocks::StillThere(const std::string& key, int64_t created) {
  const auto seen =
      client_->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = key, .keys_only = true});
  if (!seen) {
    return seen.error();
  }
  const auto& entries =
      seen->replies.empty() ? std::vector<EtcdEntry>() : seen->replies.front().entries;
  return !entries.empty() && entries.front().created == created;
}

// Asks for a watch first, and looks then: what happens in between is seen by one of them. A watch
// from an earlier revision would be found late by the server, a tenth of a second as a rule.
Status EtcdLocks::Await(const AcquireRequest& request, BootTime until,
                        const std::stop_token& stop) {
  std::optional<EtcdClaim> claim;
  {
    MutexLock lock(mutex_);
    claim = claims_.Find(request.token);
  }
  if (!claim || claim->ahead.empty()) {
    return {};  // it waits for nobody
  }
  const EtcdWatch what{.key = claim->ahead, .puts = false};
  Status checked;
  bool there = true;
  const Status watched = client_->Watch(what, until, stop, [&](const EtcdEvent& event) {
    there = event.kind == EtcdEvent::Kind::kBegun;
    if (there) {
      const auto still = StillThere(claim->ahead, claim->ahead_created);
      checked = still ? Status() : Status(still.error());
      there = still.value_or(false);
    }
    return there;
  });
  if (!there) {
    MutexLock lock(mutex_);
    claims_.AheadWent(request.token);
  }
  return watched ? checked : watched;
}

Status EtcdLocks::Extend(std::span<const LockClaim> claims, std::span<Extended> answers) {
  for (size_t from = 0; from < claims.size(); from += kLargestBatch) {
    const size_t some = std::min(kLargestBatch, claims.size() - from);
    if (const Status done = ExtendSome(claims.subspan(from, some), answers.subspan(from, some));
        !done) {
      return done;
    }
  }
  return {};
}

Status EtcdLocks::ExtendSome(std::span<const LockClaim> claims, std::span<Extended> answers) {
  std::vector<std::optional<EtcdClaim>> held(claims.size());
  milliseconds lease{0};
  for (const LockClaim& claim : claims) {
    lease = std::max(lease, claim.lease);
  }
  if (lease > session_.LongestLease()) {
    return Error{Code::kInvalid, Effect::kNone, "longer than the session of etcd allows"};
  }
  EtcdTxn reads;
  {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = Extended::kGone;
      if (claims_.Extending(claims[i].token, BootNow())) {
        held[i] = claims_.Find(claims[i].token);
        reads.then.push_back({.kind = EtcdOp::Kind::kRange, .key = held[i]->key});
      }
    }
  }
  if (reads.then.empty()) {
    return {};
  }
  const auto seen = ReadInSession(reads, lease, AnswerWithin(claims));
  MutexLock lock(mutex_);
  for (size_t i = 0, reply = 0; i < claims.size(); i++) {
    if (!held[i]) {
      continue;
    }
    std::optional<BootTime> until;
    const auto& entries = seen ? seen->first.replies[reply].entries : std::vector<EtcdEntry>();
    if (!entries.empty() && entries[0].created == held[i]->created &&
        entries[0].lease == seen->second) {
      const auto requested = EtcdRequestOf(entries[0].value);
      answers[i] = requested && requested->back ? Extended::kRecalled : Extended::kYes;
      until = BootNow() + claims[i].lease;
    }
    claims_.Extended(claims[i].token, until);
    reply++;
  }
  Changed();
  return seen ? Status() : seen.error();
}

Result<std::pair<EtcdAnswer, int64_t>> EtcdLocks::ReadInSession(const EtcdTxn& reads,
                                                                milliseconds lease,
                                                                milliseconds within) {
  for (int tries = 0; tries < kMostTries; tries++) {
    const auto ticket = session_.Until(BootNow() + lease, within);
    if (!ticket) {
      return ticket.error();
    }
    auto answer = client_->Run(reads, within);
    if (!answer) {
      return answer.error();
    }
    if (answer->replies.size() != reads.then.size()) {
      return Strange();
    }
    if (session_.Proves(answer->header, *ticket)) {
      return std::pair(*std::move(answer), ticket->lease);
    }
  }
  return Moving();
}

Status EtcdLocks::Free(std::span<const LockClaim> claims, std::span<Freed> answers) {
  for (size_t from = 0; from < claims.size(); from += kLargestBatch) {
    std::vector<std::pair<Token, EtcdClaim>> some;
    std::vector<std::pair<size_t, bool>> whose;
    {
      MutexLock lock(mutex_);
      for (size_t i = from; i < std::min(claims.size(), from + kLargestBatch); i++) {
        answers[i] = Freed::kNotHeld;
        if (const auto claim = claims_.Find(claims[i].token)) {
          some.push_back({claims[i].token, *claim});
          whose.push_back({i, claims_.Holds(claims[i].token, BootNow())});
        }
      }
    }
    if (some.empty()) {
      continue;
    }
    const auto removed = Remove(some);
    if (!removed) {
      Error error = removed.error();
      error.effect = from > 0 ? Effect::kUnknown : error.effect;  // some were removed before
      return error;
    }
    for (size_t i = 0; i < whose.size(); i++) {
      if (whose[i].second && (*removed)[i]) {
        answers[whose[i].first] = Freed::kYes;
      }
    }
  }
  return {};
}

}  // namespace oncemq
