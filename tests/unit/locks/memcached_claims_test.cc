// SPDX-License-Identifier: Apache-2.0
#include "memcached/memcached_claims.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(MemcachedClaims, WhoIsRefusedLeavesNothingBehindUnlessItHadSomeBefore) {
  MemcachedClaims claims;
  const Token token{1, 1};
  const BootTime now{};
  claims.Sent(token, 0, now + milliseconds(10), now);
  claims.Refused(token, true);
  EXPECT_TRUE(claims.Find(token).has_value()) << "an earlier ask of it may be there";
  claims.Refused(token, false);
  EXPECT_FALSE(claims.Find(token).has_value());
}

}  // namespace
}  // namespace oncemq
