// SPDX-License-Identifier: Apache-2.0
// What do claim and completion of every id cost above that, in memory, with 30 % copies? With
// --opaque: and how much more the level opaque costs than guarded, where commits reserve offsets
// before handlers are called (docs/adr/0024).
#include "oncemq/dedup/memory_window.h"
#include "runtime_pipeline.h"

int main(int argc, char** argv) {
  oncemq::bench::PipelineOptions options;
  options.duplicates = 0.3;
  // All of them: partitions are read at different speeds, and a window that forgets the ids of a
  // late one lets its copies run.
  const auto at_level = [](oncemq::Level level) {
    return [level](const oncemq::bench::RunFacts& run) {
      auto window = oncemq::OpenMemoryWindow({.level = level, .remember = run.messages},
                                             oncemq::SystemClock::Instance());
      return window ? *std::move(window) : nullptr;
    };
  };
  options.window = at_level(oncemq::Level::kGuarded);
  if (oncemq::bench::HasFlag(argc, argv, "--opaque")) {
    options.other_name = "opaque / guarded";
    options.other = at_level(oncemq::Level::kOpaque);
  }
  options.peer = {.name = "franz-go + map", .folder = "franz-go"};
  return oncemq::bench::RunPipelineBench("runtime/memory", options, argc, argv);
}
