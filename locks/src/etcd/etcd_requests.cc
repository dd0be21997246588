// SPDX-License-Identifier: Apache-2.0
#include "etcd_requests.h"

#include <algorithm>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

using What = EtcdCompare::What;

EtcdOp If(std::vector<EtcdCompare> compares, EtcdOp then) {
  EtcdOp op{.kind = EtcdOp::Kind::kTxn};
  op.txn.push_back({.if_all = std::move(compares), .then = {std::move(then)}});
  return op;
}

EtcdOp RangeOf(const std::string& key) {
  return {.kind = EtcdOp::Kind::kRange, .key = key};
}

EtcdCompare NothingIn(const std::string& prefix) {
  return {.what = What::kVersion, .key = prefix, .end = EtcdEndOf(prefix)};
}

EtcdCompare Generation(const EtcdSession::Ticket& ticket) {
  return {.what = What::kChanged, .key = ticket.key, .number = ticket.generation};
}

EtcdCompare Sealed(const EtcdLockKeys& keys, uint32_t epoch) {
  if (epoch == 0) {
    return {.what = What::kVersion, .key = keys.seal()};
  }
  return {.what = What::kValue, .key = keys.seal(), .value = std::to_string(epoch)};
}

}  // namespace

EtcdCompare EtcdSame(const std::string& key, int64_t created) {
  return {.what = What::kCreated, .key = key, .number = created};
}

EtcdTxn EtcdRequestTxn(const EtcdLockKeys& keys, const AcquireRequest& request,
                       const std::string& key, const EtcdSession::Ticket& ticket, EtcdWay way,
                       size_t most, const EtcdClaim& has) {
  const std::string prefix = keys.Queue(request.name);
  const EtcdRequest requested{false, request.epoch, request.lease, request.queue_lease,
                              std::string(request.who)};
  EtcdOp put{
      .kind = EtcdOp::Kind::kPut, .key = key, .value = BytesOf(requested), .lease = ticket.lease};
  EtcdTxn txn{.if_all = {Generation(ticket)},
              .otherwise = {RangeOf(keys.seal()), RangeOf(ticket.key)}};
  txn.if_all.push_back(Sealed(keys, request.epoch));
  if (way == EtcdWay::kStay) {
    txn.if_all.push_back(EtcdSame(has.key, has.created));
    txn.if_all.push_back(EtcdSame(has.ahead, has.ahead_created));
    return txn;
  }
  if (way == EtcdWay::kShort) {
    txn.if_all.push_back(NothingIn(prefix));
    txn.then = {std::move(put)};
    return txn;
  }
  EtcdOp take = If({EtcdSame(key, 0)}, std::move(put));
  if (!request.queue) {
    // A writer needs the name for itself, a reader one without writers.
    const bool exclusive = request.mode == LockMode::kExclusive;
    take.txn.front().if_all.push_back(NothingIn(exclusive ? prefix : keys.Writers(request.name)));
  }
  take.txn.front().otherwise = {RangeOf(key)};
  EtcdOp queue = EtcdQueueOf(prefix, most);
  queue.keys_only = true;
  txn.then = {std::move(take), std::move(queue)};
  return txn;
}

std::optional<EtcdRequestAnswer> EtcdRequestAnswerOf(const EtcdAnswer& answer,
                                                     const AcquireRequest& request,
                                                     const std::string& key,
                                                     const EtcdSession::Ticket& ticket,
                                                     EtcdWay way) {
  using Kind = EtcdRequestAnswer::Kind;
  EtcdRequestAnswer out{.epoch = request.epoch};
  const EtcdEntry put{.key = key, .created = answer.header.revision, .lease = ticket.lease};
  if (answer.succeeded && way == EtcdWay::kStay) {
    out.kind = Kind::kStays;
    return out;
  }
  if (answer.succeeded && way == EtcdWay::kShort) {
    out.mine = put;
    out.fresh = true;
    out.queue = {put};
    out.length = 1;
    return out;
  }
  if (answer.replies.size() != 2) {
    return std::nullopt;
  }
  if (!answer.succeeded) {
    const auto sealed = EtcdEpochOf(answer.replies[0].entries);
    if (!sealed) {
      return std::nullopt;
    }
    if (!answer.replies[1].entries.empty()) {
      out.generation = answer.replies[1].entries.front().changed;
    }
    const bool same = out.generation == ticket.generation;
    out.kind = *sealed != request.epoch ? Kind::kSealed : same ? Kind::kWanted : Kind::kNoTicket;
    out.epoch = *sealed;
    return out;
  }
  const EtcdReply& take = answer.replies[0];
  out.fresh = take.succeeded;
  if (out.fresh) {
    out.mine = put;
  } else if (!take.replies.empty() && !take.replies.front().entries.empty()) {
    out.mine = take.replies.front().entries.front();
    const auto requested = EtcdRequestOf(out.mine->value);
    if (!requested) {
      return std::nullopt;
    }
    out.epoch = requested->epoch;
  }
  out.queue = answer.replies[1].entries;
  out.length = static_cast<size_t>(std::max<int64_t>(0, answer.replies[1].count));
  return out;
}

EtcdTxn EtcdRemoveTxn(const std::vector<std::pair<Token, EtcdClaim>>& claims,
                      const std::optional<EtcdSession::Ticket>& ticket) {
  EtcdTxn txn;
  if (!ticket && claims.size() == 1 && !claims.front().second.uncertain) {
    const EtcdClaim& claim = claims.front().second;
    txn.if_all = {EtcdSame(claim.key, claim.created)};
    txn.then = {{.kind = EtcdOp::Kind::kDelete, .key = claim.key}};
    return txn;
  }
  if (ticket) {
    txn.if_all = {Generation(*ticket)};
    txn.then.push_back({.kind = EtcdOp::Kind::kPut, .key = ticket->key, .keep_lease = true});
    txn.otherwise = {RangeOf(ticket->key)};
  }
  for (const auto& [token, claim] : claims) {
    EtcdOp remove{.kind = EtcdOp::Kind::kDelete, .key = claim.key};
    if (claim.uncertain) {
      txn.then.push_back(std::move(remove));
    } else {
      txn.then.push_back(If({EtcdSame(claim.key, claim.created)}, std::move(remove)));
    }
  }
  return txn;
}

bool EtcdRemoved(const EtcdAnswer& answer, size_t index, bool voids) {
  const size_t at = index + (voids ? 1 : 0);
  if (!answer.succeeded || at >= answer.replies.size()) {
    return false;
  }
  const EtcdReply& reply = answer.replies[at];
  return reply.deleted > 0 || (!reply.replies.empty() && reply.replies.front().deleted > 0);
}

EtcdOp EtcdQueueOf(const std::string& prefix, size_t most) {
  return {.kind = EtcdOp::Kind::kRange,
          .key = prefix,
          .end = EtcdEndOf(prefix),
          .limit = static_cast<int64_t>(most),
          .in_creation = true};
}

std::vector<LockMode> EtcdModesOf(const std::vector<EtcdEntry>& queue) {
  std::vector<LockMode> modes;
  for (const EtcdEntry& entry : queue) {
    modes.push_back(EtcdModeOf(entry.key).value_or(LockMode::kExclusive));
  }
  return modes;
}

std::optional<uint32_t> EtcdEpochOf(const std::vector<EtcdEntry>& seal) {
  if (seal.empty()) {
    return 0;
  }
  const auto epoch = ParseDecimal(seal.front().value);
  if (!epoch || *epoch < 0 || *epoch > UINT32_MAX) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*epoch);
}

}  // namespace oncemq
