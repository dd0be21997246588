// SPDX-License-Identifier: Apache-2.0
#include "id_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace oncemq {
namespace {

using ::testing::SizeIs;

TEST(IdQuestions, ArePutToThePollThreadOnly) {
  const auto wake = *Wake::Open();
  IdQuestions questions;
  EXPECT_EQ(questions.Ask("a", milliseconds(1)).error().code, Code::kUnavailable) << "not begun";
  questions.Begin(*wake);
  EXPECT_EQ(questions.Ask("a", milliseconds(1)).error().code, Code::kTimeout);
  int asked = 0;
  const auto find = [&](const std::string& id) {
    asked++;
    EXPECT_EQ(id, "b");
    return IdQuestions::Found(3);
  };
  questions.Answer(find);
  EXPECT_EQ(asked, 0) << "its client has gone";
  Result<IdQuestions::Found> answer = IdQuestions::Found{};
  std::thread client([&] { answer = questions.Ask("b", milliseconds(20'000)); });
  while (asked == 0) {
    wake->Wait(milliseconds(1));
    questions.Answer(find);
  }
  client.join();
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, SizeIs(3));
}

TEST(IdQuestions, AQuestionThatMeetsTheEndIsAnswered) {
  const auto wake = *Wake::Open();
  IdQuestions questions;
  questions.Begin(*wake);
  Result<IdQuestions::Found> answer = IdQuestions::Found{};
  std::thread client([&] { answer = questions.Ask("a", milliseconds(20'000)); });
  wake->Wait(milliseconds(20'000));
  questions.End();
  client.join();
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace oncemq
