// SPDX-License-Identifier: Apache-2.0
// Counted leases over the engine, as a service uses them.
#include <atomic>
#include <thread>
#include <vector>

#include "lock_test.h"
#include "oncemq/locks/lease_semaphore.h"

namespace oncemq::conformance {
namespace {

std::unique_ptr<LockDomain> OpenCounted(const std::shared_ptr<LockEngine>& engine) {
  auto domain = LockDomain::Open(engine);
  EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
  return domain ? *std::move(domain) : nullptr;
}

Granted<Lease> Acquired(LockDomain& domain, AcquireOptions how) {
  how.mode = LockMode::kCounted;
  auto lease = domain.Acquire("x", how);
  EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
  return lease ? *std::move(lease) : kNotGranted;
}

// Two domains are two processes for the store.
LOCK_TEST(IfCounted, NeverMoreHoldThanTheLimitSays) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 15;
  constexpr int kLimit = 3;
  const auto one = OpenCounted(shared_engine());
  const auto two = OpenCounted(shared_engine());
  std::atomic<int> holding{0};
  std::atomic<int> most{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      LeaseSemaphore permits(t % 2 == 0 ? *one : *two, "x", kLimit);
      for (int i = 0; i < kRounds; i++) {
        permits.acquire();
        const int now = ++holding;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        holding--;
        permits.release();
      }
    });
  }
  threads.clear();
  EXPECT_LE(most.load(), kLimit);
  EXPECT_TRUE(Read().parties.empty());
}

LOCK_TEST(IfCounted, EachCountedLeaseIsReleasedByItself) {
  const auto domain = OpenCounted(shared_engine());
  auto one = Acquired(*domain, {.limit = 2});
  auto two = Acquired(*domain, {.limit = 2});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->mode(), LockMode::kCounted);
  EXPECT_LT(one->fence(), two->fence());
  EXPECT_FALSE(Acquired(*domain, {.until = BootTime::min(), .limit = 2}));
  EXPECT_EQ(one->Release(), Released::kYes);
  EXPECT_TRUE(*two->Confirm());
  EXPECT_TRUE(Acquired(*domain, {.until = BootTime::min(), .limit = 2}));
}

}  // namespace
}  // namespace oncemq::conformance
