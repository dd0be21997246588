// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hold.h"

namespace oncemq {
namespace {

class BatchesTest : public ::testing::Test {
 protected:
  BatchesTest() {
    for (size_t i = 0; i < 64; i++) {
      holds_.push_back(std::make_shared<Hold>(nullptr, "name " + std::to_string(i), Token{},
                                              LockMode::kExclusive, Fence{}, milliseconds(1)));
    }
  }

  // All are due. A call with the stuck one in it fails; says how many calls failed others, too.
  struct Round {
    size_t calls = 0;
    size_t others_failed = 0;
  };
  Round Renew(const std::shared_ptr<Hold>& stuck, bool down = false) {
    for (const auto& hold : holds_) {
      queue_.Push(hold);
    }
    Round round;
    for (Batches<Hold>::Batch batch = queue_.Pop(); !batch.empty(); batch = queue_.Pop()) {
      round.calls++;
      if (down || std::find(batch.begin(), batch.end(), stuck) != batch.end()) {
        round.others_failed += batch.size() - 1;
        queue_.Failed(batch);
      } else {
        queue_.Answered(batch);
      }
    }
    return round;
  }

  Batches<Hold>::Batch holds_;
  Batches<Hold> queue_;
};

TEST_F(BatchesTest, WhatIsDueTogetherTravelsTogether) {
  EXPECT_EQ(Renew(nullptr).calls, 1u);
}

// A renewal that failed is sent again at every twentieth of the lease; a name that holds others
// up must be alone long before these are lost, wherever it stands among them.
TEST_F(BatchesTest, ANameThatFailsItsCallsIsAloneSoonWhereverItStands) {
  for (const auto& stuck : holds_) {
    SCOPED_TRACE(stuck->name);
    size_t rounds = 0;
    while (Renew(stuck).others_failed > 0) {
      ASSERT_LT(++rounds, 8u);
    }
    for (int i = 0; i < 100; i++) {
      EXPECT_EQ(Renew(stuck).others_failed, 0u) << "and stays alone";
    }
    Renew(nullptr);
  }
}

TEST_F(BatchesTest, BehindAStoreThatWasDownManySoonTravelTogetherAgain) {
  for (int i = 0; i < 10; i++) {
    Renew(nullptr, true);
  }
  EXPECT_LT(Renew(nullptr).calls, 20u) << "not each alone";
  EXPECT_EQ(Renew(nullptr).calls, 1u);
}

}  // namespace
}  // namespace oncemq
