// SPDX-License-Identifier: Apache-2.0
// PollState: the things of a poll loop that all of its parts need.
//
// Thread safety: none; belongs to the poll thread. `errors`, `questions` and `stop_requested`: any
// thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catch_up.h"
#include "history_thread.h"
#include "id_questions.h"
#include "oncemq/framework/runtime.h"
#include "source.h"
#include "store_errors.h"
#include "wake.h"
#include "window_stores.h"

namespace oncemq {

class Crew;
class OutcomeLog;
class Keeper;

struct PollParts {
  Window* window = nullptr;
  Crew* crew = nullptr;
  Keeper* keeper = nullptr;
  Wake* wake = nullptr;
  OutcomeLog* journal = nullptr;  // nullptr: there is none
  const Clock* clock = nullptr;
  uint64_t process = 0;  // upper half of every token of this process
  std::string owner;     // of the window's stores, as text
};

struct PollTimes {
  LatencyHistogram handler;
  LatencyHistogram retry_lateness;
  LatencyHistogram commit;  // until the acknowledgement
};

struct PollState {
  const RuntimeOptions options;
  std::unique_ptr<Source> source;
  PollParts parts = {};
  Core core{options.core};
  StoreErrors errors = {};
  PollTimes times = {};
  IdQuestions questions = {};
  // where the window keeps the history of commits
  std::optional<HistoryThread> history_thread = {};
  bool remote = false;                      // the window is a server's
  std::optional<CatchUp> catch_up = {};     // where the window may forget
  std::optional<WindowStores> stores = {};  // where it keeps the history of commits
  std::vector<void*> released = {};
  std::atomic<bool> stop_requested = false;
  bool joined = false;  // the group has assigned partitions to this member, perhaps none
  BootTime now{};

  BootTime Now() { return now = parts.clock->Boot(); }
  WallTime WallAt(BootTime time) const {
    return {parts.clock->Wall().micros + (time - parts.clock->Boot()).count()};
  }
};

}  // namespace oncemq
