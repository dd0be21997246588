// SPDX-License-Identifier: Apache-2.0
// What does the runtime cost above the client? Order by key, empty handler, no window.
#include "runtime_pipeline.h"

int main(int argc, char** argv) {
  return oncemq::bench::RunPipelineBench("runtime/no-window", {}, argc, argv);
}
