// SPDX-License-Identifier: Apache-2.0
// EtcdSession: the one lease of etcd that all requests of an engine hang on, and what is known of
// it.
//
// Its key carries a generation, the revision that wrote it last. Every request compares it, so
// whoever writes the key anew makes void what was asked before and is still on its way.
//
// A member that was leader until a moment ago may acknowledge a lease that is no more its to keep.
// So an acknowledgement counts only together with an answer of the same term that came after it.
//
// Thread safety: any thread.
#pragma once

#include <optional>

#include "etcd_keys.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/hold_listeners.h"
#include "session_lease.h"

namespace oncemq {

// Until when a session is sure to live that was acknowledged for that long, in answer to what was
// sent then: less what two clocks may differ in.
inline BootTime EtcdLivesUntil(BootTime sent, std::chrono::seconds ttl) {
  return sent + milliseconds(ttl) * 99 / 100;
}

class EtcdSession {
 public:
  struct Ticket {
    int64_t lease = 0;
    std::string key;
    int64_t generation = 0;
    int64_t seen = 0;   // the latest revision, as of now
    uint64_t term = 0;  // in which it was acknowledged
  };

  // `doubts` are told when it is found gone.
  EtcdSession(EtcdClient& client, const EtcdLockKeys& keys, std::chrono::seconds ttl,
              milliseconds patience, HoldListeners& listeners);

  // A session that lives until then, if an answer of its term proves it. Asks the store if needed,
  // and waits `within` for each answer.
  Result<Ticket> Until(BootTime until, milliseconds within = milliseconds::max());
  // The same, without asking: none if there is no session.
  std::optional<Ticket> Known();
  // Acknowledges it, if it is time; a new one is not made.
  Status KeepAlive();
  std::optional<BootTime> next_keep_alive();
  void End();

  // Of every answer. False: it proves nothing for the ticket, ask again.
  [[nodiscard]] bool Proves(const EtcdHeader& header, const Ticket& ticket);
  // What was found at the key of the session, none if it is gone.
  void Found(const Ticket& ticket, std::optional<int64_t> generation);

  // Before and behind every request. False: the store has gone back, and may repeat the fences that
  // it gave in this epoch.
  [[nodiscard]] bool Allows(uint32_t epoch);

  milliseconds LongestLease() const { return LongestLeaseIn(ttl_); }

 private:
  Status Renew(int64_t lease, milliseconds within);
  BootTime NextKeepAlive() const REQUIRES(mutex_);
  void IsGone() REQUIRES(mutex_);
  void Saw(const EtcdHeader& header, int64_t seen) REQUIRES(mutex_);

  EtcdClient& client_;
  const EtcdLockKeys& keys_;
  const std::chrono::seconds ttl_;
  const milliseconds patience_;
  HoldListeners& listeners_;

  Mutex mutex_;
  ConditionVariable changed_;
  bool renewing_ GUARDED_BY(mutex_) = false;          // somebody makes or acknowledges it
  uint64_t renewals_ GUARDED_BY(mutex_) = 0;          // how often somebody has
  std::optional<Error> failed_ GUARDED_BY(mutex_);    // the last time
  milliseconds failed_within_ GUARDED_BY(mutex_){0};  // and how long it was waited for
  Ticket ticket_ GUARDED_BY(mutex_);
  BootTime until_ GUARDED_BY(mutex_) = BootTime::min();  // it lives, as far as acknowledged
  BootTime sent_ GUARDED_BY(mutex_) = BootTime::min();
  uint64_t cluster_ GUARDED_BY(mutex_) = 0;
  int64_t highest_epoch_ GUARDED_BY(mutex_) = 0;  // that was asked in
  int64_t dead_epoch_ GUARDED_BY(mutex_) = -1;    // the same, when the store went back
};

}  // namespace oncemq
