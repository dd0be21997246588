// SPDX-License-Identifier: Apache-2.0
#include "scope.h"

#include <gtest/gtest.h>

#include <set>

namespace oncemq {
namespace {

TEST(Scope, ChangesWithEachOfItsNames) {
  const std::set<uint64_t> scopes{
      ScopeOf({"shop", "eu", "billing", "charge"}), ScopeOf({"SHOP", "eu", "billing", "charge"}),
      ScopeOf({"shop", "us", "billing", "charge"}), ScopeOf({"shop", "eu", "audit", "charge"}),
      ScopeOf({"shop", "eu", "billing", "refund"})};
  EXPECT_EQ(scopes.size(), 5U);
}

TEST(Scope, TellsNamesApartWhereverTheyAreCut) {
  const std::set<uint64_t> scopes{ScopeOf({"a:b", "c", "g", "h"}), ScopeOf({"a", "b:c", "g", "h"}),
                                  ScopeOf({"a", "b", "c:g", "h"}), ScopeOf({"a", "b", "c", "g:h"}),
                                  ScopeOf({"ab", "", "g", "h"}),   ScopeOf({"a", "b", "g", "h"}),
                                  ScopeOf({"", "ab", "g", "h"}),   ScopeOf({"1:a", "", "g", "h"})};
  EXPECT_EQ(scopes.size(), 8U);
}

// Commits of earlier versions carry it.
TEST(Scope, IsTheSameNumberForEver) {
  EXPECT_EQ(ScopeOf({"shop", "eu", "billing", "charge"}), 16556552155842947945ULL);
}

}  // namespace
}  // namespace oncemq
