// SPDX-License-Identifier: Apache-2.0
// The memory window as an engine of the conformance suite, on a clock that the tests move.
#pragma once

#include "memory_window_engine.h"
#include "oncemq/dedup/conformance/window_conformance.h"

namespace oncemq {

inline ManualClock& EnginesClock() {
  static ManualClock clock;
  return clock;
}

inline WindowEngine MemoryEngine(std::string name, IdHash hash = ProcessHash,
                                 bool partition_owned = false) {
  return {
      .name = std::move(name),
      .capabilities = {.engine = "memory",
                       .partition_owned = partition_owned,
                       .timed = true,
                       .forgets_by_number = true},
      .open = [=](const ConformanceSetup& setup) -> Result<std::unique_ptr<Window>> {
        const MemoryWindowOptions options{.level = setup.level,
                                          .partition_owned = partition_owned,
                                          .times = setup.times,
                                          .remember = 10'000,
                                          .max_open = 10'000};
        if (hash == ProcessHash) {
          return OpenMemoryWindow(options, EnginesClock());
        }
        return std::unique_ptr<Window>(new MemoryWindow(options, EnginesClock(), hash));
      },
      .reopen = {},
      .advance = [](milliseconds by) { EnginesClock().Advance(by); },
      .judges = true,
  };
}

}  // namespace oncemq
