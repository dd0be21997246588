// SPDX-License-Identifier: Apache-2.0
// A Runtime on a thread of its own.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "oncemq/framework/runtime.h"

namespace oncemq::testing {

// Options of a test's member: short session, quick commits; rebalances by range, or by what
// ONCEMQ_TEST_ASSIGNOR says.
RuntimeOptions QuickOptions(const std::string& brokers, const std::string& group,
                            const std::string& topic);

// Thread safety: one thread.
class RunningMember {
 public:
  // Throws std::runtime_error when the runtime can't be opened.
  RunningMember(const RuntimeOptions& options, Window* window, Handler handler);
  ~RunningMember();

  RunReport Now() const { return runtime_->Report(); }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view id) const {
    return runtime_->FindOpen(id, std::chrono::seconds(20));
  }
  // Stops it and waits; the same again afterwards.
  const RunReport& Stop();

 private:
  std::unique_ptr<Runtime> runtime_;
  std::optional<RunReport> report_;
  std::jthread thread_;
};

}  // namespace oncemq::testing
