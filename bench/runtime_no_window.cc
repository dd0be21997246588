// SPDX-License-Identifier: Apache-2.0
// What does the runtime cost above the client? Order by key, empty handler, no window.
#include "runtime_pipeline.h"

int main(int argc, char** argv) {
  oncemq::bench::PipelineOptions options;
  // Its rate is known after so many; all five million would take two minutes a run.
  options.peer = {.name = "parallel-consumer (300 k)",
                  .folder = "parallel-consumer",
                  .at_most = 300'000,
                  .warm_up = 200'000};
  return oncemq::bench::RunPipelineBench("runtime/no-window", options, argc, argv);
}
