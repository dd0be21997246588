// SPDX-License-Identifier: Apache-2.0
// What the engine does by itself: keeps its session, and ends what nobody extends.
#include <algorithm>

#include "etcd_locks.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr size_t kLargestBatch = 100;  // etcd takes 128 operations at a time
constexpr int kTries = 5;
// Threads wait on a clock that stands still while the machine sleeps.
constexpr milliseconds kLongestKeeperNap{500};
constexpr milliseconds kBetweenKeeps{100};

LockCapabilities Of(const EtcdLockOptions& options) {
  LockCapabilities can = EtcdLockCapabilities();
  can.longest_lease = LongestLeaseIn(options.session);
  return can;
}

}  // namespace

EtcdLocks::EtcdLocks(std::unique_ptr<EtcdClient> client, const EtcdLockOptions& options)
    : can_(Of(options)),
      client_(std::move(client)),
      keys_(options.space),
      most_(options.max_waiters + 1),
      session_(*client_, keys_, options.session, options.call, listeners_) {}

EtcdLocks::~EtcdLocks() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (keeper_) {
    keeper_->join();
  }
  session_.End();
}

bool EtcdLocks::Start() {
  keeper_ = StartThread("oncemq-etcd", [this] { Keep(); });
  return keeper_.has_value();
}

// Acknowledges the session, and removes what nobody extended.
void EtcdLocks::Keep() {
  MutexLock lock(mutex_);
  while (!ending_) {
    const BootTime now = BootNow();
    BootTime next = now + kLongestKeeperNap;
    for (const auto& due : {claims_.next(), session_.next_keep_alive()}) {
      next = std::min(next, due.value_or(next));
    }
    if (next > now) {
      sleeps_until_ = next;
      changed_.wait_for(mutex_, next - now);
      sleeps_until_ = BootTime::min();
      continue;
    }
    if (!KeepOnce() && !ending_) {
      changed_.wait_for(mutex_, kBetweenKeeps);
    }
  }
}

bool EtcdLocks::KeepOnce() {
  mutex_.unlock();
  const bool kept = session_.KeepAlive().has_value();
  const bool removed = RemoveOverdue().has_value();
  mutex_.lock();
  return kept && removed;
}

void EtcdLocks::Changed() {
  if (claims_.next().value_or(BootTime::max()) < sleeps_until_) {
    changed_.notify_all();
  }
}

Status EtcdLocks::RemoveOverdue() {
  for (int tries = 0; tries < 1'000; tries++) {
    std::vector<std::pair<Token, EtcdClaim>> overdue;
    {
      MutexLock lock(mutex_);
      overdue = claims_.Overdue(BootNow(), kLargestBatch);
    }
    if (overdue.empty()) {
      return {};
    }
    if (const auto removed = Remove(overdue); !removed) {
      Error error = removed.error();
      error.effect = Effect::kNone;  // what is asked for was not asked
      return error;
    }
  }
  return {};
}

Result<std::vector<bool>> EtcdLocks::Remove(
    const std::vector<std::pair<Token, EtcdClaim>>& claims) {
  const bool voids = std::any_of(claims.begin(), claims.end(),
                                 [](const auto& one) { return one.second.uncertain; });
  for (int tries = 0; tries < kTries; tries++) {
    const auto known = session_.Known();
    // Without a session there is nothing on its way that could still be done.
    const auto ticket = voids ? known : std::nullopt;
    const auto answer = client_->Run(EtcdRemoveTxn(claims, ticket));
    if (!answer) {
      return answer.error();
    }
    if (known) {
      static_cast<void>(session_.Proves(answer->header, *known));
    }
    if (ticket && !answer->succeeded) {
      const auto& there =
          answer->replies.empty() ? std::vector<EtcdEntry>() : answer->replies.front().entries;
      session_.Found(*ticket, there.empty() ? std::nullopt : std::optional(there[0].changed));
      continue;
    }
    if (ticket) {
      session_.Found(*ticket, answer->header.revision);
    }
    std::vector<bool> removed;
    MutexLock lock(mutex_);
    for (size_t i = 0; i < claims.size(); i++) {
      removed.push_back(EtcdRemoved(*answer, i, ticket.has_value()));
      claims_.Removed(claims[i].first, claims[i].second);
    }
    return removed;
  }
  return Error{Code::kUnavailable, Effect::kUnknown, "the session of etcd changes again and again"};
}

}  // namespace oncemq
