// SPDX-License-Identifier: Apache-2.0
// EtcdLocks: see oncemq/locks/etcd_locks.h.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "etcd_claims.h"
#include "etcd_keys.h"
#include "etcd_requests.h"
#include "etcd_session.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/etcd_locks.h"
#include "oncemq/locks/hold_listeners.h"

namespace oncemq {

class EtcdLocks final : public LockEngine {
 public:
  EtcdLocks(std::unique_ptr<EtcdClient> client, const EtcdLockOptions& options);
  ~EtcdLocks() override;
  EtcdLocks(const EtcdLocks&) = delete;
  EtcdLocks& operator=(const EtcdLocks&) = delete;
  // False: the system gives no thread.
  [[nodiscard]] bool Start();

  const LockCapabilities& capabilities() const override { return can_; }
  Result<LockAnswer> Request(const AcquireRequest& request) override;
  Status Await(const AcquireRequest& request, BootTime until, const std::stop_token& stop) override;
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override;
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override;
  Result<size_t> Recall(std::string_view name) override;
  Result<Freed> Evict(std::string_view name, const Fence& fence) override;
  Result<LockView> Read(std::string_view name) override;
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override;
  Result<uint32_t> Seal(uint32_t epoch) override;
  void Listen(HoldListener& listener) override { listeners_.Listen(listener); }
  void Unlisten(HoldListener& listener) override { listeners_.Unlisten(listener); }

 private:
  // Those who hold a name and those who wait for it, as they came, up to the limit.
  struct Queue {
    std::vector<EtcdEntry> entries;
    std::vector<EtcdRequest> requested;
    std::vector<bool> holds;
  };

  void Keep();
  bool KeepOnce() REQUIRES(mutex_);
  void Changed() REQUIRES(mutex_);
  Status RemoveOverdue();
  Result<std::vector<bool>> Remove(const std::vector<std::pair<Token, EtcdClaim>>& claims);
  Result<EtcdRequestAnswer> SendRequest(const AcquireRequest& request, const std::string& key,
                                        const std::optional<EtcdClaim>& has);
  Result<LockAnswer> InQueue(const AcquireRequest& request, const EtcdRequestAnswer& answer)
      REQUIRES(mutex_);
  LockAnswer Waits(const AcquireRequest& request, const EtcdClaim& claim) REQUIRES(mutex_);
  Result<bool> StillThere(const std::string& key, int64_t created);
  Status ExtendSome(std::span<const LockClaim> claims, std::span<Extended> answers);
  // The answer proves that the session lives so long; with the session.
  Result<std::pair<EtcdAnswer, int64_t>> ReadInSession(const EtcdTxn& reads, milliseconds lease,
                                                       milliseconds within);
  Result<Queue> QueueOf(std::string_view name);

  const LockCapabilities can_;
  const std::unique_ptr<EtcdClient> client_;
  const EtcdLockKeys keys_;
  const size_t most_;  // of a queue
  HoldListeners listeners_;
  EtcdSession session_;

  Mutex mutex_;
  ConditionVariable changed_;
  EtcdClaims claims_ GUARDED_BY(mutex_);
  BootTime sleeps_until_ GUARDED_BY(mutex_) = BootTime::min();
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> keeper_;
};

}  // namespace oncemq
