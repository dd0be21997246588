// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/granted.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/base/result.h"

namespace oncemq {
namespace {

using Box = std::unique_ptr<int>;

Result<Granted<Box>> Request(bool free) {
  if (!free) {
    return {kNotGranted};
  }
  return {std::make_unique<int>(7)};
}

TEST(Granted, HasWhatWasGranted) {
  auto granted = Request(true);
  ASSERT_TRUE(granted && *granted);
  EXPECT_EQ(*(*granted)->get(), 7);
  const Box mine = std::move(**granted);
  EXPECT_EQ(*mine, 7);
  EXPECT_EQ(**Granted<Box>(std::make_unique<int>(8)), 8);
}

TEST(Granted, AnAnswerWithoutItIsNoError) {
  const auto granted = Request(false);
  ASSERT_TRUE(granted.has_value());
  EXPECT_FALSE(*granted);
  EXPECT_FALSE(granted->has_value());
}

TEST(Granted, IsGivenUpByAnAnswerWithoutIt) {
  const auto watched = std::make_shared<int>(1);
  Granted<std::shared_ptr<int>> granted(watched);
  granted = kNotGranted;
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(Granted, RefersToWhatAnotherOwns) {
  const std::string name = "x";
  const Granted<const std::string&> granted(name);
  EXPECT_EQ(&*granted, &name);
  EXPECT_EQ(granted->size(), 1u);
  EXPECT_FALSE(Granted<const std::string&>());
}

TEST(GrantedDeathTest, EndsWhenWhatWasNotGrantedIsUsed) {
  Granted<std::string> none;
  EXPECT_DEATH(static_cast<void>(*none), "only what was granted is used");
  EXPECT_DEATH(static_cast<void>(none->size()), "only what was granted is used");
  EXPECT_DEATH(static_cast<void>(*Granted<const std::string&>()), "only what was granted is used");
}

}  // namespace
}  // namespace oncemq
