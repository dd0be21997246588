// SPDX-License-Identifier: Apache-2.0
#include "zero_pages.h"

#include <gtest/gtest.h>

#include <utility>

namespace oncemq {
namespace {

TEST(ZeroPages, AreZeroFromTheFirstToTheLastByte) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{5} << 20}) {
    const ZeroPages pages(bytes);
    ASSERT_NE(pages.data(), nullptr);
    EXPECT_EQ(pages.data()[0], 0);
    EXPECT_EQ(pages.data()[bytes - 1], 0);
    pages.data()[bytes - 1] = 1;
  }
}

TEST(ZeroPages, MoveWithTheirBytes) {
  ZeroPages first(4096);
  first.data()[9] = 7;
  const ZeroPages second(std::move(first));
  EXPECT_EQ(second.data()[9], 7);
}

TEST(ZeroPages, SayWhenThereIsNoMemory) {
  EXPECT_EQ(ZeroPages(size_t{1} << 62).data(), nullptr);
}

}  // namespace
}  // namespace oncemq
