// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/token.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(Token, IsEmptyUntilItNamesAnAttempt) {
  EXPECT_TRUE(Token().empty());
  EXPECT_FALSE((Token{1, 0}).empty());
  EXPECT_FALSE((Token{0, 1}).empty());
}

TEST(Token, DiffersByProcessAndByAttempt) {
  EXPECT_EQ((Token{1, 2}), (Token{1, 2}));
  EXPECT_NE((Token{1, 2}), (Token{2, 2}));
  EXPECT_NE((Token{1, 2}), (Token{1, 3}));
}

}  // namespace
}  // namespace oncemq
