// SPDX-License-Identifier: Apache-2.0
#include "check_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/judged_window.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class CheckReplayTest : public ::testing::Test {
 protected:
  std::string Why() {
    const Status fit = CheckReplay(options_, &window_);
    EXPECT_TRUE(fit || fit.error().code == Code::kInvalid);
    return fit ? "" : fit.error().message;
  }

  RuntimeOptions options_;
  JudgedWindow window_;
};

TEST_F(CheckReplayTest, AServiceOverASharedWindowWithALookIsReplayed) {
  EXPECT_EQ(Why(), "");
}

TEST_F(CheckReplayTest, WithoutAWindowNothingTellsWhatIsDone) {
  const Status fit = CheckReplay(options_, nullptr);
  ASSERT_FALSE(fit);
  EXPECT_THAT(fit.error().message, HasSubstr("no window"));
}

TEST_F(CheckReplayTest, MessagesThatPassWithoutAnIdWouldAllRunAgain) {
  options_.missing_id = MissingId::kPass;
  EXPECT_THAT(Why(), HasSubstr("missing_id: pass"));
}

TEST_F(CheckReplayTest, AWindowOfOneProcessAnswersItsOwnersAlone) {
  window_.can.shared = false;
  EXPECT_THAT(Why(), HasSubstr("`judged` answers the owners"));
}

TEST_F(CheckReplayTest, ASharedWindowWithoutALookAnswersItsOwnersAlone) {
  window_.judges = false;
  EXPECT_THAT(Why(), HasSubstr("ids that their partitions own"));
}

TEST_F(CheckReplayTest, ElidedLocksBelongToTheOwner) {
  options_.locks.elided = true;
  EXPECT_THAT(Why(), HasSubstr("elided"));
}

}  // namespace
}  // namespace oncemq::testing
