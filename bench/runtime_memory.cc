// SPDX-License-Identifier: Apache-2.0
// What do claim and completion of every id cost above that, in memory, with 30 % copies?
#include "oncemq/dedup/memory_window.h"
#include "runtime_pipeline.h"

int main(int argc, char** argv) {
  oncemq::bench::PipelineOptions options;
  options.duplicates = 0.3;
  // All of them: partitions are read at different speeds, and a window that forgets the ids of a
  // late one lets its copies run.
  options.window = [](const oncemq::bench::RunFacts& run) {
    auto window =
        oncemq::OpenMemoryWindow({.level = oncemq::Level::kGuarded, .remember = run.messages},
                                 oncemq::SystemClock::Instance());
    return window ? *std::move(window) : nullptr;
  };
  options.peer = {.name = "franz-go + map", .folder = "franz-go"};
  return oncemq::bench::RunPipelineBench("runtime/memory", options, argc, argv);
}
