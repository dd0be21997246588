// SPDX-License-Identifier: Apache-2.0
// What the tests of the poll loop share: quick options, and a window that can fail.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "running_loop.h"
#include "support/eventually.h"
#include "support/shaky_window.h"

namespace oncemq::testing {

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
