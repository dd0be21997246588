// SPDX-License-Identifier: Apache-2.0
// The core at the limits that it starts with: a full span, thousands of partitions, a million
// messages of one key and of a million keys.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <span>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/framework/core.h"

namespace oncemq {
namespace {

constexpr uint32_t kMillion = 1'000'000;

// A core whose broker and store answer at once.
class LargeCore : public ::testing::Test {
 protected:
  using KeyOf = std::function<uint64_t(int64_t offset)>;

  void Open(const CoreOptions& options = {}) { core_ = std::make_unique<Core>(options); }
  // All that a partition may hold is in flight at a time.
  void OpenWide() {
    CoreOptions options;
    options.in_flight = options.partition_credit = options.span = kMillion;
    Open(options);
  }

  void Give(PartitionId p, int64_t start = 0, CommitMetadata metadata = {}) {
    AssignFacts facts;
    facts.partition = static_cast<int32_t>(p);
    facts.start = start;
    facts.metadata = std::move(metadata);
    core_->Assign(p, facts, now_);
    core_->OwnerEpochRaised(p, core_->Status(p).epoch, OwnerEpoch{++owner_epoch_}, now_);
    Acknowledge();
  }

  // The next `count` offsets of the partition.
  void Admit(PartitionId p, uint32_t count, const KeyOf& key_of) {
    const int64_t first = core_->Status(p).next_offset;
    std::vector<Arrival> arrivals(count);
    for (uint32_t i = 0; i < count; i++) {
      arrivals[i].message = this;
      arrivals[i].offset = first + i;
      arrivals[i].key_hash = key_of(arrivals[i].offset);
      arrivals[i].bytes = 100;
    }
    core_->Admit(p, arrivals);
  }

  void Settle(const std::vector<BatchItem>& items, DeliveryFate fate = DeliveryFate::kApplied) {
    std::vector<Settlement> settlements(items.size());
    for (size_t i = 0; i < items.size(); i++) {
      settlements[i].slot = items[i].slot;
      settlements[i].ticket = items[i].ticket;
      settlements[i].fate = fate;
    }
    core_->Settle(settlements, now_);
    CountReleased();
  }

  // Runs what may run; what `stuck` names keeps running.
  void Drain(const std::function<bool(const BatchItem&)>& stuck = {}) {
    oncemq::MessageBatch batch;
    while (core_->TakeBatch(batch, now_)) {
      std::vector<BatchItem> finished;
      for (const BatchItem& item : batch.items) {
        (stuck && stuck(item) ? stuck_ : finished).push_back(item);
      }
      Settle(finished);
    }
  }

  // Fills the partition's span, all finished but what `stuck` names.
  void FillSpan(const std::function<bool(const BatchItem&)>& stuck) {
    for (uint32_t credit = core_->Credit(0); credit > 0; credit = core_->Credit(0)) {
      Admit(0, credit, [](int64_t offset) { return MixBits(static_cast<uint64_t>(offset)) | 1; });
      Drain(stuck);
    }
  }

  void CountReleased() {
    released_.clear();
    core_->TakeReleased(released_);
    released_total_ += released_.size();
  }

  // What the core wants since the last call; commits are acknowledged.
  std::vector<Action> Acknowledge() {
    std::vector<Action> actions;
    core_->TakeActions(actions);
    for (const Action& action : actions) {
      if (const auto* commit = std::get_if<CommitAction>(&action)) {
        core_->CommitAnswered(commit->partition, commit->number, CommitReply::kAcknowledged, now_);
      }
    }
    return actions;
  }
  std::vector<Action> AfterASecond() {
    now_ += microseconds(1'000'000);
    core_->Tick(now_);
    return Acknowledge();
  }

  template <class T>
  static std::vector<T> Only(const std::vector<Action>& actions) {
    std::vector<T> found;
    for (const Action& action : actions) {
      if (const auto* wanted = std::get_if<T>(&action)) {
        found.push_back(*wanted);
      }
    }
    return found;
  }
  static CommitMetadata Decode(const CommitAction& commit) {
    EXPECT_LE(commit.metadata.size(), kMaxCommitMetadata);
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    EXPECT_TRUE(metadata.has_value());
    return metadata.value_or(CommitMetadata{});
  }

  BootTime now_{microseconds(1'000'000)};
  OwnerEpoch owner_epoch_ = 0;
  std::unique_ptr<Core> core_;
  std::vector<BatchItem> stuck_;
  std::vector<void*> released_;
  size_t released_total_ = 0;
};

TEST_F(LargeCore, AStuckHeadUnderAFullSpanHoldsOneMessageAndThenFreesAll) {
  Open();
  Give(0);
  FillSpan([](const BatchItem& item) { return item.at.offset == 0; });
  EXPECT_EQ(core_->Status(0).next_offset, int64_t{CoreOptions().span});
  EXPECT_EQ(core_->load().unfinished, 1u);
  const auto waiting = Only<CommitAction>(AfterASecond());
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].offset, 0);
  EXPECT_EQ(Decode(waiting[0]).map.count(), kMillion - 1);
  EXPECT_EQ(Decode(waiting[0]).totals.applied, kMillion - 1);

  Settle(stuck_);
  const auto freed = Only<CommitAction>(AfterASecond());
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_EQ(freed[0].offset, kMillion);
  EXPECT_EQ(Decode(freed[0]).totals.applied, kMillion);
  EXPECT_TRUE(Decode(freed[0]).map.empty());
  EXPECT_EQ(core_->Credit(0), CoreOptions().partition_credit);
}

TEST_F(LargeCore, AMapThatDoesNotFitIsCutAndCallsNoStuckOffsetFinished) {
  constexpr int64_t kEvery = 125;  // one stuck offset in so many: 8,000 holes in the map
  Open();
  Give(0);
  FillSpan([](const BatchItem& item) { return item.at.offset % kEvery == 0; });
  EXPECT_EQ(core_->Status(0).next_offset, kMillion);
  ASSERT_EQ(stuck_.size(), kMillion / kEvery);
  const auto commits = Only<CommitAction>(AfterASecond());
  ASSERT_EQ(commits.size(), 1u);
  const CommitMetadata cut = Decode(commits[0]);
  EXPECT_GT(cut.map.count(), 100'000);
  EXPECT_LT(cut.map.count(), kMillion - kMillion / kEvery);
  EXPECT_EQ(cut.totals.sum(), cut.map.count()) << "totals are of what the map shows, no more";
  for (int64_t offset = 0; offset < kMillion; offset += kEvery) {
    ASSERT_FALSE(cut.map.Contains(offset)) << offset;
  }
  std::shuffle(stuck_.begin(), stuck_.end(), std::mt19937_64(1));
  Settle(stuck_);
  const auto all = Only<CommitAction>(AfterASecond());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].offset, kMillion);
  EXPECT_EQ(Decode(all[0]).totals.applied, kMillion);
}

TEST_F(LargeCore, FourThousandPartitionsAreCommittedGivenBackAndTakenAgain) {
  constexpr uint32_t kPartitions = 4'000;
  constexpr uint32_t kRounds = 5;
  constexpr uint32_t kBatch = 50;
  const auto keys = [](int64_t offset) { return static_cast<uint64_t>(offset % 7) + 1; };
  Open();
  for (PartitionId p = 0; p < kPartitions; p++) {
    Give(p);
  }
  for (uint32_t round = 0; round < kRounds; round++) {
    for (PartitionId p = 0; p < kPartitions; p++) {
      if (core_->Credit(p) < kBatch) {
        Drain();
      }
      Admit(p, kBatch, keys);
    }
  }
  Drain();
  EXPECT_EQ(released_total_, size_t{kPartitions} * kRounds * kBatch);
  const auto commits = Only<CommitAction>(AfterASecond());
  EXPECT_EQ(commits.size(), kPartitions);
  for (const CommitAction& commit : commits) {
    ASSERT_EQ(commit.offset, kRounds * kBatch);
    ASSERT_EQ(Decode(commit).totals.applied, kRounds * kBatch);
  }

  for (PartitionId p = 0; p < kPartitions; p++) {
    if (p % 2 == 0) {
      core_->Revoke(p, now_ + microseconds(1'000'000), now_);
    } else {
      core_->Lost(p);
    }
  }
  EXPECT_EQ(Only<CommitAction>(Acknowledge()).size(), kPartitions / 2);
  EXPECT_EQ(Only<GiveBackAction>(Acknowledge()).size(), kPartitions / 2);
  for (PartitionId p = 0; p < kPartitions; p++) {
    Give(p, commits[p].offset, Decode(commits[p]));
    Admit(p, 1, keys);
    Drain();
  }
  EXPECT_EQ(Only<CommitAction>(AfterASecond()).size(), kPartitions);
  EXPECT_TRUE(core_->Counts().Balanced());
  EXPECT_EQ(core_->Counts().applied, int64_t{kPartitions} * (kRounds * kBatch + 1));
  EXPECT_EQ(core_->load().unfinished, 0u);
}

TEST_F(LargeCore, AMillionMessagesOfOneKeyStayInOrderThroughRetries) {
  CoreOptions options;
  options.in_flight = options.partition_credit = kMillion;  // all queued in the one lane
  Open(options);
  Give(0);
  oncemq::MessageBatch batch;
  oncemq::MessageBatch second;
  int64_t next = 0;
  int64_t retries = 0;
  std::vector<Settlement> settlements;
  while (next < kMillion) {
    const auto left = static_cast<uint32_t>(kMillion - core_->Status(0).next_offset);
    if (const uint32_t credit = std::min(left, core_->Credit(0));
        credit >= std::min(left, 10'000u) || core_->load().unfinished == 0) {
      Admit(0, credit, [](int64_t) { return uint64_t{1}; });
      ASSERT_EQ(core_->load().lanes, 1u);
    }
    ASSERT_TRUE(core_->TakeBatch(batch, now_)) << next;
    ASSERT_FALSE(core_->TakeBatch(second, now_)) << "one key runs in one place at a time";
    settlements.clear();
    bool failed = false;
    for (const BatchItem& item : batch.items) {
      Settlement& settlement = settlements.emplace_back();
      settlement.slot = item.slot;
      settlement.ticket = item.ticket;
      if (failed) {
        continue;  // withdrawn
      }
      ASSERT_EQ(item.at.offset, next);
      failed = next % 997 == 0 && retries <= next / 997;
      settlement.fate = failed ? DeliveryFate::kRetry : DeliveryFate::kApplied;
      settlement.wait = microseconds(failed ? 1'000 : 0);
      next += failed ? 0 : 1;
      retries += failed ? 1 : 0;
    }
    core_->Settle(settlements, now_);
    CountReleased();
    if (failed) {
      ASSERT_FALSE(core_->TakeBatch(batch, now_)) << "followers wait behind the retry";
      now_ += microseconds(1'000);
      core_->Tick(now_);
    }
  }
  EXPECT_GT(retries, kMillion / 1'000);
  EXPECT_EQ(released_total_, kMillion);
  EXPECT_EQ(core_->load().lanes, 0u);
}

TEST_F(LargeCore, AMillionKeysThatWaitAreHandedBackAtOnce) {
  OpenWide();
  Give(0);
  Admit(0, kMillion, [](int64_t offset) { return MixBits(static_cast<uint64_t>(offset)) | 1; });
  EXPECT_GT(core_->load().lanes, kMillion - 100) << "two keys with equal hashes are rare";
  oncemq::MessageBatch batch;
  ASSERT_TRUE(core_->TakeBatch(batch, now_));
  const auto running = static_cast<int64_t>(batch.items.size());
  core_->Revoke(0, now_ + microseconds(1'000'000), now_);
  EXPECT_EQ(core_->Counts().handed_back, kMillion - running);
  EXPECT_TRUE(Only<CommitAction>(Acknowledge()).empty()) << "a handler still runs";
  Settle(batch.items);
  const auto last = Only<CommitAction>(Acknowledge());
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(Decode(last[0]).totals.applied, running);
  EXPECT_EQ(Only<GiveBackAction>(Acknowledge()).size(), 1u);
  EXPECT_EQ(released_total_, kMillion);
  EXPECT_EQ(core_->load().lanes, 0u);
  EXPECT_TRUE(core_->Counts().Balanced());
}

}  // namespace
}  // namespace oncemq
