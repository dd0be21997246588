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

// A store that another one has written is another one: each of these decides what ids it has.
TEST(Scope, TheOwnerOfAStoreChangesWithAllThatDecidesItsIds) {
  const RuntimeOptions plain = [] {
    RuntimeOptions options;
    options.app = "shop";
    options.handler = "charge";
    options.kafka.group = "billing";
    return options;
  }();
  std::set<std::string> owners{StoreOwner(plain)};
  const auto with = [&](auto change) {
    RuntimeOptions options = plain;
    change(options);
    owners.insert(StoreOwner(options));
  };
  with([](RuntimeOptions& options) { options.app = "shop2"; });
  with([](RuntimeOptions& options) { options.name_space = "eu"; });
  with([](RuntimeOptions& options) { options.handler = "refund"; });
  with([](RuntimeOptions& options) { options.kafka.group = "audit"; });
  with([](RuntimeOptions& options) { options.core.scope.recipe++; });
  with([](RuntimeOptions& options) { options.id_from = IdFrom::kKey; });
  with([](RuntimeOptions& options) { options.id_from = IdFrom::kCoordinates; });
  with([](RuntimeOptions& options) { options.id_header = "another"; });
  EXPECT_EQ(owners.size(), 9U);
  EXPECT_NE(StoreOwner(plain).find("read_committed"), std::string::npos)
      << "who reads aborted messages has other ids";
}

// Commits of earlier versions carry it.
TEST(Scope, IsTheSameNumberForEver) {
  EXPECT_EQ(ScopeOf({"shop", "eu", "billing", "charge"}), 16556552155842947945ULL);
}

}  // namespace
}  // namespace oncemq
