// SPDX-License-Identifier: Apache-2.0
#include "etcd_session.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr milliseconds kAWhile{100};
// A session that somebody ended is found gone with its next acknowledgement.
constexpr milliseconds kMostBetweenKeepAlives{1'000};

}  // namespace

EtcdSession::EtcdSession(EtcdClient& client, const EtcdLockKeys& keys, std::chrono::seconds ttl,
                         milliseconds patience, HoldListeners& listeners)
    : client_(client), keys_(keys), ttl_(ttl), patience_(patience), listeners_(listeners) {}

Result<EtcdSession::Ticket> EtcdSession::Until(BootTime until, milliseconds within) {
  const BootTime give_up = BootNow() + std::min(within, patience_);
  uint64_t before = 0;
  {
    MutexLock lock(mutex_);
    before = renewals_;
  }
  for (;;) {
    int64_t lease = 0;
    {
      MutexLock lock(mutex_);
      while (renewing_ && BootNow() < give_up) {
        changed_.wait_for(mutex_, give_up - BootNow());
      }
      if (ticket_.lease != 0 && until_ >= until) {
        return ticket_;
      }
      // A call for a short lease has little time for an answer: its failure says nothing of ours.
      const bool shared = failed_within_ >= std::min(within, patience_);
      if (renewals_ > before && failed_ && (shared || BootNow() >= give_up)) {
        return *failed_;
      }
      // One that has ended is found gone first, and made anew then.
      if (renewing_ || BootNow() >= give_up || renewals_ > before + 3) {
        return Error{Code::kTimeout, Effect::kNone, "etcd acknowledges no session"};
      }
      renewing_ = true;
      lease = ticket_.lease;
    }
    const Status done = Renew(lease, within);
    MutexLock lock(mutex_);
    renewing_ = false;
    renewals_++;
    failed_.reset();
    if (!done) {
      failed_ = done.error();
      failed_->effect = Effect::kNone;  // what it was for was not asked
      failed_within_ = std::min(within, patience_);
    }
    changed_.notify_all();
  }
}

// Acknowledges the session, or makes one.
Status EtcdSession::Renew(int64_t lease, milliseconds within) {
  int64_t seen = 0;
  {
    MutexLock lock(mutex_);
    seen = ticket_.seen;
  }
  const BootTime sent = BootNow();
  const auto kept = lease != 0 ? client_.KeepAlive(lease, within) : client_.Grant(ttl_);
  if (!kept) {
    return kept.error();
  }
  if (kept->ttl < ttl_) {  // gone, or not as it was asked for
    MutexLock lock(mutex_);
    Saw(kept->header, seen);
    if (ticket_.lease == lease) {
      IsGone();
    }
    return lease != 0 ? Status()
                      : Error{Code::kUnavailable, Effect::kNone, "etcd gave a shorter session"};
  }
  std::optional<EtcdHeader> written;
  if (lease == 0) {
    const auto put = client_.Run(
        EtcdOp{.kind = EtcdOp::Kind::kPut, .key = keys_.Session(kept->id), .lease = kept->id});
    if (!put) {
      static_cast<void>(client_.Revoke(kept->id));  // else it ends by itself
      return put.error();
    }
    written = put->header;
  }
  MutexLock lock(mutex_);
  Saw(kept->header, seen);
  if (written) {
    Saw(*written, seen);
    ticket_.lease = kept->id;
    ticket_.key = keys_.Session(kept->id);
    ticket_.generation = written->revision;
  }
  if (ticket_.lease == kept->id) {
    ticket_.term = kept->header.term;
    sent_ = sent;
    until_ = EtcdLivesUntil(sent, ttl_);
  }
  return {};
}

std::optional<EtcdSession::Ticket> EtcdSession::Known() {
  MutexLock lock(mutex_);
  return ticket_.lease == 0 ? std::nullopt : std::optional(ticket_);
}

std::optional<BootTime> EtcdSession::next_keep_alive() {
  MutexLock lock(mutex_);
  if (ticket_.lease == 0) {
    return std::nullopt;
  }
  // Somebody is at it: whether that was enough shows later.
  return renewing_ ? BootNow() + kAWhile : NextKeepAlive();
}

BootTime EtcdSession::NextKeepAlive() const {
  return sent_ + std::min(milliseconds(ttl_) / 16, kMostBetweenKeepAlives);
}

void EtcdSession::IsGone() {
  const bool was_there = std::exchange(ticket_.lease, 0) != 0;
  if (was_there) {
    listeners_.HoldsMayBeLost();
  }
}

Status EtcdSession::KeepAlive() {
  int64_t lease = 0;
  {
    MutexLock lock(mutex_);
    if (ticket_.lease == 0 || renewing_ || BootNow() < NextKeepAlive()) {
      return {};
    }
    lease = ticket_.lease;
  }
  return Renew(lease, patience_);
}

void EtcdSession::End() {
  if (const auto known = Known()) {
    static_cast<void>(client_.Revoke(known->lease));
  }
}

bool EtcdSession::Proves(const EtcdHeader& header, const Ticket& ticket) {
  MutexLock lock(mutex_);
  Saw(header, ticket.seen);
  if (header.term != ticket.term) {
    if (ticket_.term == ticket.term) {
      until_ = BootTime::min();
    }
    return false;
  }
  return true;
}

void EtcdSession::Found(const Ticket& ticket, std::optional<int64_t> generation) {
  MutexLock lock(mutex_);
  if (ticket_.lease != ticket.lease) {
    return;
  }
  if (!generation) {
    IsGone();
  } else {
    ticket_.generation = std::max(ticket_.generation, *generation);
  }
}

// Answers may overtake each other, so one is compared with what was known when it was asked for.
void EtcdSession::Saw(const EtcdHeader& header, int64_t seen) {
  const bool first = cluster_ == 0;
  if (!first && (header.revision < seen || header.cluster != cluster_)) {
    if (dead_epoch_ < highest_epoch_) {
      Log(LogLevel::kError, "locks", "etcd went back to an earlier state, so fences would repeat",
          {{"revision", header.revision}, {"seen", seen}});
    }
    dead_epoch_ = highest_epoch_;
    ticket_.seen = 0;
    IsGone();  // what hangs on it is from another time
  }
  cluster_ = header.cluster;
  ticket_.seen = std::max(ticket_.seen, header.revision);
}

bool EtcdSession::Allows(uint32_t epoch) {
  MutexLock lock(mutex_);
  highest_epoch_ = std::max(highest_epoch_, int64_t{epoch});
  return int64_t{epoch} > dead_epoch_;
}

}  // namespace oncemq
