// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/fence_text.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(FenceText, IsReadAsItWasWritten) {
  for (const Fence& fence : {Fence{0, 1}, Fence{3, 1'763}, Fence{~uint32_t{0}, ~uint64_t{0}}}) {
    EXPECT_EQ(ParseFence(ToString(fence)), fence) << ToString(fence);
  }
  EXPECT_EQ(ToString(Fence{0, 1'763}), "1763");
  EXPECT_EQ(ToString(Fence{3, 1'763}), "3.1763");
}

TEST(FenceText, WhatIsNoFenceIsRefused) {
  for (const char* text : {"", ".", "1.", ".1", "-1", "1.-1", "x", "1 ", "4294967296.1",
                           "18446744073709551616", "1.2.3"}) {
    EXPECT_EQ(ParseFence(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace oncemq
