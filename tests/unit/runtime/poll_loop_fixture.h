// SPDX-License-Identifier: Apache-2.0
// What the tests of the poll loop share: quick options, and a window that can fail.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "oncemq/dedup/memory_window.h"
#include "running_loop.h"
#include "support/eventually.h"

namespace oncemq::testing {

// A memory window whose calls can be made to fail, and are counted.
class ShakyWindow final : public Window {
 public:
  std::atomic<bool> down{false};
  std::atomic<bool> restore_down{false};
  std::atomic<bool> renewals_fenced{false};
  std::atomic<int> renewals{0};

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<Own> RaiseOwn(uint32_t source, int32_t partition, Own floor) override {
    return down ? Result<Own>(Down()) : inner_->RaiseOwn(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return down ? Status(Down()) : inner_->Claim(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests, std::span<Change> changes) override {
    return down ? Status(Down()) : inner_->Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests, std::span<Change> changes) override {
    return down ? Status(Down()) : inner_->Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<Change> changes) override {
    return down ? Status(Down()) : inner_->Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<Change> changes) override {
    renewals++;
    if (renewals_fenced) {
      std::fill(changes.begin(), changes.end(), Change::kFenced);
      return {};
    }
    return inner_->Renew(requests, changes);
  }
  Status Restore(std::span<const RestoreRequest> requests, std::span<Change> changes) override {
    return down || restore_down ? Status(Down()) : inner_->Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return inner_->Peek(ids, views);
  }

 private:
  static Error Down() { return {Code::kUnavailable, Effect::kNone, "down"}; }
  std::unique_ptr<Window> inner_ =
      *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
};

class PollLoopTest : public ::testing::Test {
 protected:
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.core.commit_interval = milliseconds(5);
    options.core.store_retry = milliseconds(5);
    options.policy.store_retry = milliseconds(5);
    options.poll_budget = milliseconds(40);
    options.drain_deadline = std::chrono::seconds(10);
    return options;
  }
  Handler Count() {
    return [this](const Message&, Context&) -> Outcome {
      calls_++;
      return Done{};
    };
  }
  static bool Holds(const std::function<bool()>& condition) {
    return Eventually(std::chrono::seconds(20), condition);
  }
  static int64_t Committed(const Script::Seen& seen, PartitionId partition) {
    int64_t offset = -1;
    for (const CommitAction& commit : seen.commits) {
      offset = commit.partition == partition ? commit.offset : offset;
    }
    return offset;
  }

  ShakyWindow window_;
  std::atomic<int> calls_{0};
};

}  // namespace oncemq::testing
