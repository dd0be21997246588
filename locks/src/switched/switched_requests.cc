// SPDX-License-Identifier: Apache-2.0
// Asking and waiting, through the stores that grant.
#include <algorithm>

#include "oncemq/base/either_stop.h"
#include "oncemq/base/wait_until.h"
#include "switched_parts.h"

namespace oncemq {
namespace {

using Kind = LockAnswer::Kind;

Error Unavailable(std::string why) {
  return {Code::kUnavailable, Effect::kNone, std::move(why)};
}

}  // namespace

// While a store that failed is left, its holders may still believe. Waiting is all there is.
LockAnswer SwitchedLocks::Parts::Drained(const AcquireRequest& request) {
  if (!request.queue) {
    return {};
  }
  where.WaitsAt(request, "", clock.Boot());
  return {Kind::kQueued, {}, board->Progress().left.value_or(milliseconds(0))};
}

Result<LockAnswer> SwitchedLocks::Parts::RequestAt(SwitchedStore& store,
                                                   const AcquireRequest& request,
                                                   bool gives_fence) {
  for (int tries = 0; tries < 3; tries++) {
    const auto answer =
        store.Do(*board, [&](LockEngine& engine) { return engine.Request(request); });
    if (!answer) {
      return answer;
    }
    if (answer->kind == Kind::kSealed) {
      if (answer->fence.epoch > request.epoch) {
        board->ReadSoon();
        return Unavailable("the store " + store.name() + " knows of a later switch, of epoch " +
                           std::to_string(answer->fence.epoch) + ", than the record, of epoch " +
                           std::to_string(request.epoch) +
                           "; if that stays so, the record was lost (docs/locks.md)");
      }
      const auto sealed =
          store.Do(*board, [&](LockEngine& engine) { return engine.Seal(request.epoch); });
      if (!sealed) {
        return sealed.error();
      }
      continue;
    }
    // A grant whose reply was lost before a switch: its fence may be less than one given since.
    if (answer->kind == Kind::kGranted && gives_fence && store.can().fence &&
        answer->fence.epoch != request.epoch) {
      if (const Status undone = Undo({store.name()}, 1, request); !undone) {
        return undone.error();
      }
      continue;
    }
    return answer;
  }
  return Unavailable("the store " + store.name() + " is being switched");
}

Status SwitchedLocks::Parts::Undo(const StoreNames& grants, size_t granted,
                                  const AcquireRequest& request) {
  const LockClaim claim{request.name, request.token};
  for (size_t i = 0; i < granted; i++) {
    Freed freed{};
    if (const Status done = Store(grants[i]).Do(*board,
                                                [&](LockEngine& engine) {
                                                  return engine.Free({&claim, 1}, {&freed, 1});
                                                });
        !done) {
      return Error{done.error().code, Effect::kUnknown, done.error().message};
    }
  }
  return {};
}

Result<LockAnswer> SwitchedLocks::Request(const AcquireRequest& request) {
  const BootTime began = parts_->clock.Boot();
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  if (request.lease > record->longest) {
    return Error{Code::kInvalid, Effect::kNone,
                 "this switchboard allows leases of " + std::to_string(record->longest.count()) +
                     " ms at most"};
  }
  AcquireRequest inner = request;
  inner.epoch = record->epoch;
  const StoreNames grants = StoresThatGrant(*record, request.fenced);
  if (grants.empty()) {
    return parts_->Drained(inner);
  }
  LockAnswer granted;
  for (size_t i = 0; i < grants.size(); i++) {
    const BootTime sent_at = parts_->clock.Boot();
    parts_->where.Add(inner, grants[i], sent_at);
    auto answer = parts_->RequestAt(parts_->Store(grants[i]), inner, i == 0);
    if (i > 0) {
      parts_->WatchTarget(*record, sent_at, answer ? Status() : Status(answer.error()));
    }
    if (!answer) {
      // What the first store has granted is to be given back by whoever gives up.
      const bool owed = i > 0;
      return Error{answer.error().code, owed ? Effect::kUnknown : answer.error().effect,
                   answer.error().message};
    }
    if (answer->kind == Kind::kQueued) {
      parts_->where.WaitsAt(inner, grants[i], parts_->clock.Boot());
      if (i > 0) {
        answer->again = std::min(answer->again, request.lease / 3);  // to keep what is granted
      }
      return answer;
    }
    if (answer->kind == Kind::kBusy) {
      if (const Status undone = parts_->Undo(grants, i, inner); !undone) {
        return undone.error();
      }
      parts_->where.Forget(request.token);
      return answer;
    }
    granted = i == 0 ? *answer : granted;
  }
  // If the first store has let it end by then, both may have granted it to another one in between.
  if (grants.size() > 1 && parts_->MayHaveEnded(began, request.lease)) {
    return Error{Code::kTimeout, Effect::kUnknown,
                 "what the store " + grants.front() + " granted may have ended before the store " +
                     grants.back() + " did"};
  }
  parts_->where.Holds(inner, parts_->clock.Boot());
  return granted;
}

Status SwitchedLocks::Await(const AcquireRequest& request, BootTime until,
                            const std::stop_token& stop) {
  const std::stop_token changed = parts_->board->changed();
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  const auto entry = parts_->where.Find(request.token);
  if (!entry || entry->epoch != record->epoch) {
    return {};  // asking again decides
  }
  const EitherStop either(stop, changed);
  if (entry->waits_at.empty()) {
    WaitUntil(until, parts_->clock.Boot(), either.token());
    return {};
  }
  AcquireRequest inner = request;
  inner.epoch = record->epoch;
  return parts_->Store(entry->waits_at).Await(*parts_->board, inner, until, either.token());
}

}  // namespace oncemq
