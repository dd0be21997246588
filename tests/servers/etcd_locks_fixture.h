// SPDX-License-Identifier: Apache-2.0
// What the tests of the locks in etcd begin with. Each test has a server of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/etcd_locks.h"
#include "oncemq/locks/lock_domain.h"
#include "support/etcd_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {

class EtcdLocksTest : public ::testing::Test {
 protected:
  using Kind = LockAnswer::Kind;
  // Long against a moment in which the machine does something else.
  static constexpr milliseconds kLease{2'500};
  static constexpr std::chrono::seconds kLong{30};

  void SetUp() override { ONCEMQ_REQUIRE_ETCD(); }

  static BootTime Now() { return SystemClock::Instance().Boot(); }
  static std::string Local(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
  static EtcdLockOptions Patient() {
    return {.connect = milliseconds(10'000), .call = milliseconds(10'000)};
  }
  static std::shared_ptr<LockEngine> Opened(const std::string& url,
                                            const EtcdLockOptions& options = Patient()) {
    auto locks = OpenEtcdLocks(url, options);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  void Start(const EtcdLockOptions& options = Patient()) {
    server_ = EtcdServer::Start();
    locks_ = Opened(server_->url(), options);
    domain_ = *LockDomain::Open(locks_, {.lease = kLease});
  }

  AcquireRequest New(std::string_view name = "x", milliseconds lease = milliseconds(20'000)) {
    return {.name = name, .token = {0xE7CD, ++requesters_}, .lease = lease, .queue_lease = lease};
  }
  static Result<Freed> Free(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token};
    Freed freed{};
    const Status done = locks.Free({&claim, 1}, {&freed, 1});
    return done ? Result<Freed>(freed) : done.error();
  }
  static Result<Extended> Extend(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token, request.lease};
    Extended extended{};
    const Status done = locks.Extend({&claim, 1}, {&extended, 1});
    return done ? Result<Extended>(extended) : done.error();
  }
  static LockAnswer Request(LockEngine& locks, const AcquireRequest& request) {
    const auto answer = locks.Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer.value_or(LockAnswer{});
  }
  Granted<Lease> Acquired(std::string_view name = "x", const AcquireOptions& how = {}) {
    auto lease = domain_->Acquire(name, how);
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }
  static void AwaitStop(const std::stop_token& stop) {
    std::atomic<bool> told{false};
    const std::stop_callback callback(stop, [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);
  }
  // How many keys there are.
  int64_t Keys() const {
    const auto client = EtcdClient::Open(*ParseEtcdEndpoint(server_->url()), {kLong, kLong});
    const std::string all(1, '\0');
    const auto answer = (*client)->Run(
        EtcdOp{.kind = EtcdOp::Kind::kRange, .key = all, .end = all, .keys_only = true});
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->replies.at(0).count : -1;
  }

  std::unique_ptr<EtcdServer> server_;
  std::shared_ptr<LockEngine> locks_;
  std::unique_ptr<LockDomain> domain_;
  uint64_t requesters_ = 0;
};

}  // namespace oncemq::testing
