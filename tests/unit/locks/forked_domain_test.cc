// SPDX-License-Identifier: Apache-2.0
// What a child has of the locks of its parent, and what no two processes share.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/memory_locks.h"
#include "support/forwarding_locks.h"

namespace oncemq {
namespace {

// Memory locks that keep the last token by which they were asked.
class SeenTokens final : public testing::ForwardingLocks {
 public:
  SeenTokens() : ForwardingLocks(MakeMemoryLocks()) {}

  Token last;

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    last = request.token;
    return ForwardingLocks::Request(request);
  }
};

TEST(ForkedDomain, BehindAForkADomainIsOfNoUse) {
  const auto locks = MakeMemoryLocks();
  auto domain = *LockDomain::Open(locks);
  const pid_t child = fork();
  if (child == 0) {
    const auto lease = domain->TryAcquire("x");
    _exit(!lease && lease.error().code == Code::kInvalid ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The child's copy of a lease, and of the domain, would speak over its parent's connections.
TEST(ForkedDomain, AChildThatEndsGivesNothingOfItsParentsBack) {
  const auto locks = MakeMemoryLocks();
  auto domain = *LockDomain::Open(locks);
  auto lease = *domain->Acquire("x");
  ASSERT_TRUE(lease);
  const pid_t child = fork();
  if (child == 0) {
    const bool inert = !lease->StillMine() && lease->Confirm().value_or(true) == false &&
                       lease->Release() == Released::kNotHeld;
    domain.reset();
    // Memory locks are of each process: in the child's, nobody has freed the name either.
    _exit(inert && locks->Read("x")->parties.size() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lease->StillMine());
}

// Processes that count would begin alike. Of numbers that are drawn one in 2^32 is as small.
TEST(LockTokens, WhatLeadsThemIsDrawnAndNotCounted) {
  const auto locks = std::make_shared<SeenTokens>();
  std::vector<uint64_t> leads;
  for (int i = 0; i < 2; i++) {
    const auto domain = *LockDomain::Open(locks);
    const auto lease = domain->TryAcquire("x");
    ASSERT_TRUE(lease.has_value() && lease->has_value());
    leads.push_back(locks->last.process);
    EXPECT_GT(leads.back(), uint64_t{1} << 32);
  }
  EXPECT_NE(leads[0], leads[1]);
}

}  // namespace
}  // namespace oncemq
