// SPDX-License-Identifier: Apache-2.0
// The memory for finished ids that are not in the history yet is one of the process, however many
// stores it opens.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "local/generation_memory.h"
#include "local/recent_ids.h"
#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr uint64_t kBudget = uint64_t{512} << 20;

TEST(GenerationMemory, TheSharesOfTwentyFourStoresStayWithinTheBudget) {
  const auto memory = std::make_shared<GenerationMemory>(kBudget);
  std::deque<GenerationMemory::Share> shares;
  for (uint64_t stores = 1; stores <= 24; stores++) {
    const GenerationMemory::Share& last = shares.emplace_back(memory);
    EXPECT_EQ(last.OfGeneration(), kBudget / stores / 2);
    uint64_t sum = 0;
    for (const GenerationMemory::Share& share : shares) {
      sum += 2 * share.OfGeneration();  // one fills, one is put away
    }
    EXPECT_LE(sum, kBudget);
    EXPECT_GT(sum, kBudget - 2 * stores);
  }
  while (shares.size() > 1) {
    shares.pop_back();
  }
  EXPECT_EQ(shares.front().OfGeneration(), kBudget / 2) << "what was closed leaves its share";
}

TEST(GenerationMemory, NoShareIsTooSmallToWorkWith) {
  const auto memory = std::make_shared<GenerationMemory>(3 * GenerationMemory::kLeast);
  const GenerationMemory::Share one(memory);
  const GenerationMemory::Share two(memory);
  EXPECT_EQ(one.OfGeneration(), GenerationMemory::kLeast);
}

TEST(GenerationMemory, AStoreThatIsOnlyReadHasNoShareAndTakesNone) {
  const auto memory = std::make_shared<GenerationMemory>(kBudget);
  const GenerationMemory::Share store(memory);
  const GenerationMemory::Share reader(nullptr);
  EXPECT_EQ(reader.OfGeneration(), UINT64_MAX);
  EXPECT_EQ(store.OfGeneration(), kBudget / 2);
}

// The size that counts against a share grows with each id: a table that is doubled is counted long
// before.
TEST(RecentIds, WhatTheyTakeAtMostGrowsEvenlyAndIsNeverLessThanTheyHave) {
  const KeyedHash hasher(KeyedHash::Secret{});
  RecentIds ids(hasher);
  EXPECT_EQ(ids.bytes_to_put_away(), 0u);
  const std::string result(60, 'r');
  uint64_t last = 0;
  size_t records = 0;
  for (int64_t i = 0; i < 50'000; i++) {
    const std::string id = "payment-" + std::to_string(i);
    const IdRecord record{.id = id, .at = {0, 0, i}, .result = result};
    std::string bytes(RecordBytes(record), '\0');
    WriteRecord(record, bytes.data());
    ids.Append(bytes, hasher(id));
    records += bytes.size();
    const uint64_t now = ids.bytes_to_put_away();
    ASSERT_GT(now, last);
    ASSERT_LE(now - last, 2 * (bytes.size() + 40)) << "at " << i;
    ASSERT_GE(now, records + 24 * ids.size());
    last = now;
  }
}

}  // namespace
}  // namespace oncemq
