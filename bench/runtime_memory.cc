// SPDX-License-Identifier: Apache-2.0
// What do claim and completion of every id cost above that, in memory, with 30 % copies?
#include "oncemq/dedup/memory_window.h"
#include "runtime_pipeline.h"

int main(int argc, char** argv) {
  oncemq::bench::PipelineOptions options;
  options.duplicates = 0.3;
  options.window = [] {
    auto window = oncemq::OpenMemoryWindow({}, oncemq::SystemClock::Instance());
    return window ? *std::move(window) : nullptr;
  };
  return oncemq::bench::RunPipelineBench("runtime/memory", options, argc, argv);
}
