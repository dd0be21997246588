// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/mutant.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(Mutant, NobodyIsBrokenUnlessChosenByName) {
  EXPECT_FALSE(ONCEMQ_MUTANT("test-only/no-such-mutant"));
}

#ifndef ONCEMQ_MUTANTS
TEST(Mutant, IsAConstantInEveryOrdinaryBuild) {
  static_assert(!ONCEMQ_MUTANT("test-only/constant"));
}
#endif

}  // namespace
}  // namespace oncemq
