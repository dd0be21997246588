// SPDX-License-Identifier: Apache-2.0
// A core with a broker that answers at once, for tests that care about neither.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/framework/core.h"

namespace oncemq {

class CoreHarness : public ::testing::Test {
 protected:
  static CoreOptions Small() {
    CoreOptions options;
    options.in_flight = 64;
    options.waiting.messages = 64;
    options.partition_credit = 32;
    options.span = 64;
    options.batch = 8;
    options.lane_batch = 8;
    options.commit_interval = microseconds(1'000);
    options.session_timeout = microseconds(100'000);
    options.session_margin = microseconds(10'000);
    options.store_retry = microseconds(500);
    return options;
  }

  explicit CoreHarness(const CoreOptions& options = Small()) : core_(options) {}

  void After(int64_t micros) {
    now_ += microseconds(micros);
    core_.Tick(now_);
  }

  std::vector<Action> Actions() {
    std::vector<Action> actions;
    core_.TakeActions(actions);
    return actions;
  }

  template <class T>
  std::vector<T> Only() {
    std::vector<T> found;
    for (Action& action : Actions()) {
      if (auto* wanted = std::get_if<T>(&action)) {
        found.push_back(std::move(*wanted));
      }
    }
    return found;
  }

  // Assigned, raised, confirmed. Returns the metadata of the confirming commit.
  void Give(PartitionId p, int64_t start = 0, CommitMetadata metadata = {}) {
    AssignFacts facts;
    facts.partition = static_cast<int32_t>(p);
    facts.start = start;
    facts.metadata = std::move(metadata);
    core_.Assign(p, facts, now_);
    Actions();
    core_.OwnerEpochRaised(p, core_.Status(p).epoch, OwnerEpoch{++owner_epoch_}, now_);
    Acknowledge();
    ASSERT_EQ(core_.Status(p).phase, PartitionPhase::kActive);
  }

  std::vector<CommitAction> Acknowledge(CommitReply reply = CommitReply::kAcknowledged) {
    const auto commits = Only<CommitAction>();
    for (const CommitAction& commit : commits) {
      core_.CommitAnswered(commit.partition, commit.number, reply, now_);
    }
    return commits;
  }

  void Admit(PartitionId p, int64_t offset, const std::string& key, const std::string& id = "") {
    ids_.push_back(std::make_unique<std::string>(id));
    Arrival arrival;
    arrival.message = ids_.back().get();
    arrival.id = *ids_.back();
    arrival.id_hash = id.empty() ? 0 : ProcessHash(id);
    arrival.key_hash = key.empty() ? 0 : ProcessHash(key);
    arrival.offset = offset;
    arrival.bytes = 10;
    core_.Admit(p, {&arrival, 1});
  }

  std::vector<BatchItem> Take() {
    oncemq::MessageBatch batch;
    core_.TakeBatch(batch, now_);
    return batch.items;
  }

  // Offsets of what may run now.
  static std::vector<int64_t> Offsets(const std::vector<BatchItem>& items) {
    std::vector<int64_t> offsets;
    for (const BatchItem& item : items) {
      offsets.push_back(item.at.offset);
    }
    return offsets;
  }

  void Settle(const BatchItem& item, DeliveryFate fate, int64_t wait_micros = 0) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = fate;
    settlement.wait = microseconds(wait_micros);
    Settle(settlement);
  }
  void Settle(Settlement settlement) {
    core_.Settle({&settlement, 1}, now_);
    EXPECT_TRUE(core_.Counts().Balanced());
  }
  void SettleAll(const std::vector<BatchItem>& items, DeliveryFate fate = DeliveryFate::kApplied) {
    for (const BatchItem& item : items) {
      Settle(item, fate);
    }
  }

  CommitMetadata Decode(const CommitAction& commit) {
    auto metadata = DecodeCommit(commit.metadata, commit.offset);
    EXPECT_TRUE(metadata.has_value());
    return metadata.value_or(CommitMetadata{});
  }

  BootTime now_{microseconds(1'000'000)};
  Core core_;
  OwnerEpoch owner_epoch_ = 0;
  std::vector<std::unique_ptr<std::string>> ids_;
};

}  // namespace oncemq
