// SPDX-License-Identifier: Apache-2.0
// The window in Redis after a restart or a failover.
#include "redis_window_fixture.h"

namespace oncemq::testing {
namespace {

// Rule 31. Nobody is left who could miss the changes of the former owner.
TEST_F(RedisWindowTest, AfterARestartANewOwnerTakesNothingForWhole) {
  Start({"--appendonly", "yes"});
  const auto dead = Open();
  ASSERT_TRUE(dead->Open(name_));
  const Own own = *dead->RaiseOwn(0, 3, 0);
  Announcement announced{.partition = 3, .to = 1, .offset = 1, .own = own};
  ASSERT_TRUE(dead->Announce({&announced, 1}));
  const BootTime whole = BootNow();
  const auto before = Open()->Open(name_);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->regressed);
  server_->Kill9();
  server_->Restart();
  const auto heir = Open();
  const auto known = heir->Open(name_);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_TRUE(known->regressed);
  ASSERT_TRUE(known->lost_since);
  EXPECT_LE(*known->lost_since, whole) << "changes after it may be gone";
  EXPECT_GT(*known->lost_since, whole - std::chrono::seconds(20));
  announced.own = *heir->RaiseOwn(0, 3, 0);
  announced.whole = false;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_TRUE(Open()->Open(name_)->regressed) << "some ids are not known again";
  announced.whole = true;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_FALSE(Open()->Open(name_)->regressed);
}

}  // namespace
}  // namespace oncemq::testing
