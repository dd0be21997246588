// SPDX-License-Identifier: Apache-2.0
// The server's scripts against the table that says what every engine does: random histories, in
// which no time passes, are answered alike.
#include <gtest/gtest.h>

#include <random>

#include "lock_table.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

constexpr BootTime kNow{microseconds(1'000'000)};
constexpr milliseconds kLong{600'000};
constexpr std::string_view kNames[] = {"a", "b"};

class RedisTableTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::string_view Name() { return kNames[Below(2)]; }
  Token SomeToken() { return {7, 1 + Below(9)}; }
  // A repeated request is the same: what it wants goes by its token. More than half are counted.
  static LockMode ModeOf(const Token& token) {
    return token.attempt > 4        ? LockMode::kCounted
           : token.attempt % 3 == 0 ? LockMode::kShared
                                    : LockMode::kExclusive;
  }
  static uint32_t LimitOf(const Token& token) { return token.attempt % 4 + 1; }

  void Request() {
    const Token token = SomeToken();
    const AcquireRequest request{.name = Name(),
                                 .token = token,
                                 .mode = ModeOf(token),
                                 .queue = Below(4) != 0,
                                 .barge = Below(5) == 0,
                                 .lease = kLong,
                                 .queue_lease = kLong,
                                 .who = "who",
                                 .limit = ModeOf(token) == LockMode::kCounted ? LimitOf(token) : 0};
    const auto said = locks_->Request(request);
    ASSERT_TRUE(said.has_value()) << ToString(said.error());
    LockTable::Turns turns;
    ASSERT_EQ(said->kind, table_.Request(request, kNow, turns).kind);
  }
  void Extend() {
    const LockClaim claim{Name(), SomeToken(), kLong};
    Extended said{};
    ASSERT_TRUE(locks_->Extend({&claim, 1}, {&said, 1}));
    LockTable::Turns turns;
    ASSERT_EQ(said, table_.Extend(claim, kNow, turns));
  }
  void Free() {
    const LockClaim claim{Name(), SomeToken()};
    Freed said{};
    ASSERT_TRUE(locks_->Free({&claim, 1}, {&said, 1}));
    LockTable::Turns turns;
    ASSERT_EQ(said, table_.Free(claim, kNow, turns));
  }
  void Recall() {
    const std::string_view name = Name();
    ASSERT_EQ(*locks_->Recall(name), table_.Recall(name, kNow));
  }
  // Fences have other numbers here and there: the first holder of each is meant.
  void Evict() {
    const std::string_view name = Name();
    const LockView real = *locks_->Read(name);
    const LockView model = table_.Read(name, kNow);
    if (!real.parties.empty() && real.parties.front().holds) {
      LockTable::Turns turns;
      ASSERT_EQ(*locks_->Evict(name, real.parties.front().fence),
                table_.Evict(name, model.parties.front().fence, kNow, turns));
    }
  }
  void Compare() {
    for (const std::string_view name : kNames) {
      const LockView real = *locks_->Read(name);
      const LockView model = table_.Read(name, kNow);
      ASSERT_EQ(real.parties.size(), model.parties.size());
      for (size_t i = 0; i < real.parties.size(); i++) {
        ASSERT_EQ(real.parties[i].holds, model.parties[i].holds);
        ASSERT_EQ(real.parties[i].mode, model.parties[i].mode);
        ASSERT_EQ(real.parties[i].who, "who");
      }
    }
  }

  std::mt19937 random_{20'261};
  std::shared_ptr<LockEngine> locks_;
  LockTable table_;
};

TEST_F(RedisTableTest, RandomHistoriesAreAnsweredAsTheTableAnswersThem) {
  const auto server = RedisServer::Start();
  for (int history = 0; history < 150; history++) {
    // None of so many questions is to end by its time.
    auto locks = OpenRedisLocks(server->url(), {.space = std::to_string(history),
                                                .connect = milliseconds(30'000),
                                                .call = milliseconds(30'000)});
    ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
    locks_ = *std::move(locks);
    table_ = LockTable();
    for (int step = 0; step < 80; step++) {
      SCOPED_TRACE("history " + std::to_string(history) + ", step " + std::to_string(step));
      switch (Below(10)) {
        case 0:
          ASSERT_NO_FATAL_FAILURE(Extend());
          break;
        case 1:
          ASSERT_NO_FATAL_FAILURE(Recall());
          break;
        case 2:
          ASSERT_NO_FATAL_FAILURE(Evict());
          break;
        case 3:
        case 4:
        case 5:
          ASSERT_NO_FATAL_FAILURE(Free());
          break;
        default:
          ASSERT_NO_FATAL_FAILURE(Request());
      }
      ASSERT_NO_FATAL_FAILURE(Compare());
    }
  }
}

}  // namespace
}  // namespace oncemq::testing
