// SPDX-License-Identifier: Apache-2.0
// The local window under the conformance suite. Each window has a directory of its own; generations
// are small, so that ids move to the history under the suite's hands.
#include <gtest/gtest.h>

#include "oncemq/dedup/conformance/window_conformance.h"
#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

ManualClock& EnginesClock() {
  static ManualClock clock;
  return clock;
}

// The suite opens windows beside each other, and opens again only the one that it opened last.
class Directories {
 public:
  std::string New() { return parent_.path() / std::to_string(++count_); }
  std::string Last() const { return parent_.path() / std::to_string(count_); }

 private:
  // In memory where there is such a place: nothing here is about the disk. Not called by the number
  // of the process: another one of that number may have been killed, and have left its stores.
  const testing::TempDir parent_{testing::TempDir::Quick()};
  int count_ = 0;
};

Directories& Stores() {
  static Directories stores;
  return stores;
}

LocalWindowOptions OptionsOf(const ConformanceSetup& setup, uint32_t generation,
                             const std::string& directory) {
  LocalWindowOptions options;
  options.directory = directory;
  options.identity = "the suite";
  options.level = setup.level;
  options.times = setup.times;
  options.remember = setup.remember;
  options.skew = milliseconds(0);
  options.sync = SyncWhen::kNever;
  options.generation = generation;
  options.max_open = 20'000;
  return options;
}

WindowEngine LocalEngine(std::string name, uint32_t generation) {
  return {
      .name = std::move(name),
      .capabilities =
          {.engine = "rocksdb", .durable = true, .atomic = true, .ages = true, .timed = true},
      .open =
          [generation](const ConformanceSetup& setup) {
            return OpenLocalWindow(OptionsOf(setup, generation, Stores().New()), EnginesClock());
          },
      .reopen =
          [generation](const ConformanceSetup& setup) {
            return OpenLocalWindow(OptionsOf(setup, generation, Stores().Last()), EnginesClock());
          },
      .advance = [](milliseconds by) { EnginesClock().Advance(by); },
  };
}

// A store for each partition, as the runtime takes it.
WindowEngine PartitionsEngine() {
  const auto open = [](const ConformanceSetup& setup, const std::string& directory) {
    return OpenPartitionWindows(OptionsOf(setup, 20'000, directory), EnginesClock());
  };
  return {
      .name = "rocksdb_partitions",
      .capabilities = {.engine = "rocksdb",
                       .durable = true,
                       .atomic = true,
                       .ages = true,
                       .by_partition = true,
                       .partition_owned = true,
                       .keeps_history = true},
      .open = [=](const ConformanceSetup& setup) { return open(setup, Stores().New()); },
      .reopen = [=](const ConformanceSetup& setup) { return open(setup, Stores().Last()); },
      .advance = [](milliseconds by) { EnginesClock().Advance(by); },
  };
}

[[maybe_unused]] const bool kRegistered = RegisterWindowConformance(LocalEngine("rocksdb", 20'000));
[[maybe_unused]] const bool kRegisteredSmall =
    RegisterWindowConformance(LocalEngine("rocksdb_generations_of_16", 16));
[[maybe_unused]] const bool kRegisteredPartitions = RegisterWindowConformance(PartitionsEngine());

}  // namespace
}  // namespace oncemq
