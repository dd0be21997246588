// SPDX-License-Identifier: Apache-2.0
// Switchboards of several processes over one record, by a clock that the test sets. What asks a
// store is done at once, by whoever would have had it done aside.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "oncemq/base/switchboard.h"
#include "support/switch_store.h"

namespace oncemq::testing {

inline constexpr milliseconds kWait{40'000};  // the configuration lease and the longest lease

class SwitchboardTest : public ::testing::Test {
 protected:
  struct Process {
    std::shared_ptr<SwitchStoreView> view;
    std::unique_ptr<Switchboard> board;
  };

  SwitchboardOptions Options() {
    SwitchboardOptions options;
    options.stores = {"a", "b", "c"};
    options.who = "process " + std::to_string(++opened_);
    options.breaker = {.failures = 2, .span = milliseconds(0)};
    options.seal = [this](std::string_view store, uint32_t epoch) -> Status {
      MutexLock lock(mutex_);
      sealed_[std::string(store)] = epoch;
      return {};
    };
    options.probe = [this](std::string_view store) -> Status {
      MutexLock lock(mutex_);
      probed_.emplace_back(store);
      return answers_.contains(store)
                 ? Status()
                 : Status(Error{Code::kUnavailable, Effect::kNone, "no answer"});
    };
    options.aside = [](const std::function<void()>& call) { call(); };
    return options;
  }
  Process Open(const SwitchboardOptions& options) {
    Process process{std::make_shared<SwitchStoreView>(shared_), nullptr};
    auto board = Switchboard::Open(process.view, options, clock_);
    EXPECT_TRUE(board.has_value()) << ToString(board.error());
    process.board = *std::move(board);
    process.view->UntilItWaits();
    return process;
  }
  Process Open() { return Open(Options()); }
  void Pass(milliseconds by, std::initializer_list<Process*> living) {
    for (milliseconds passed{0}; passed < by; passed += milliseconds(2'000)) {
      clock_.Advance(milliseconds(2'000));
      for (Process* process : living) {
        process->view->Turn();
      }
    }
  }
  static void Fails(Process& process, std::string_view store) {
    process.board->Report(store, false);
    process.board->Report(store, false);
  }

  ManualClock clock_;
  const std::shared_ptr<SharedSwitchStore> shared_ = std::make_shared<SharedSwitchStore>();
  Mutex mutex_;
  std::map<std::string, uint32_t> sealed_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> answers_ GUARDED_BY(mutex_){"a", "b", "c"};
  std::vector<std::string> probed_ GUARDED_BY(mutex_);
  int opened_ = 0;
};

}  // namespace oncemq::testing
