// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace oncemq {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) {
    return Error{Code::kInvalid, Effect::kNone, "odd"};
  }
  return n / 2;
}

TEST(Result, HoldsTheValue) {
  const Result<int> half = Half(8);
  ASSERT_TRUE(half);
  EXPECT_TRUE(half.has_value());
  EXPECT_EQ(*half, 4);
  EXPECT_EQ(half.value_or(7), 4);
}

TEST(Result, HoldsTheError) {
  const Result<int> half = Half(3);
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, Code::kInvalid);
  EXPECT_EQ(half.error().message, "odd");
  EXPECT_EQ(half.value_or(7), 7);
}

TEST(Result, ADefaultErrorClaimsNoEffectAndBlamesUs) {
  EXPECT_EQ(Error{}.code, Code::kInternal);
  EXPECT_EQ(Error{}.effect, Effect::kNone);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> moved = *std::move(result);
  EXPECT_EQ(*moved, 5);
}

TEST(Result, GivesAccessToTheMembersOfItsValue) {
  Result<std::string> result(std::string("abc"));
  EXPECT_EQ(result->size(), 3u);
  result->push_back('d');
  EXPECT_EQ(*result, "abcd");
}

TEST(ResultDeathTest, PrintsTheErrorInPlaceOfAMissingValue) {
  const Result<int> half = Half(3);
  EXPECT_DEATH(static_cast<void>(*half), "without a value was read; its error: invalid: odd");
  const Result<std::string> text = Error{Code::kTimeout, Effect::kUnknown, "no reply"};
  EXPECT_DEATH(static_cast<void>(text->size()), "may have taken effect.: no reply");
}

TEST(ResultDeathTest, EndsWhenAMissingErrorIsRead) {
  const Result<int> half = Half(8);
  EXPECT_DEATH(static_cast<void>(half.error().code), "but it has none");
  EXPECT_DEATH(static_cast<void>(Status().error().code), "but it has none");
}

TEST(Status, IsFineByDefault) {
  EXPECT_TRUE(Status());
  EXPECT_TRUE(Status().has_value());
}

TEST(Status, HoldsTheError) {
  Status status = Error{Code::kTimeout, Effect::kUnknown, "no reply"};
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().effect, Effect::kUnknown);
}

TEST(ErrorText, SaysThatTheCallMayHaveTakenEffect) {
  EXPECT_EQ(ToString(Error{Code::kTimeout, Effect::kUnknown, "no reply"}),
            "timeout (may have taken effect): no reply");
}

TEST(ErrorText, SaysNothingAboutAnEffectThatCannotBe) {
  EXPECT_EQ(ToString(Error{Code::kFull, Effect::kNone, "8192 of 8192"}), "full: 8192 of 8192");
}

TEST(ErrorText, NeedsNoMessage) {
  EXPECT_EQ(ToString(Error{Code::kFenced, Effect::kNone, ""}), "fenced");
}

TEST(ErrorText, HasADifferentNameForEachCode) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); code++) {
    names.insert(ToString(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Code::kInternal) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace oncemq
