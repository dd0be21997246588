// SPDX-License-Identifier: Apache-2.0
// The guarantee with the window in memory.
#include "guarantee_text.h"

namespace oncemq {
namespace {

void SayCatchUp(const RuntimeOptions& runtime, GuaranteeText& text) {
  if (runtime.catch_up == 0) {
    text.Say(
        "Catch-up is off: after a restart, or on another process, a partition begins with an "
        "empty window. Every copy of an earlier id is taken for new.");
    return;
  }
  text.Say("The next owner of a partition reads up to " + std::to_string(runtime.catch_up) +
           " offsets back in the log and takes what the commit calls finished for done. " +
           kHidden +
           (runtime.incomplete == IncompletePolicy::kStop
                ? " Where that does not suffice the partition does not start (`incomplete: stop`)."
                : " Where that does not suffice, copies of those ids run again."));
}

void SayMemoryLimits(const ServiceOptions& options, GuaranteeText& text) {
  const RuntimeOptions& runtime = options.runtime;
  text.Say(
      "The window lives in the memory of this process and is forgotten when the process ends. "
      "A partition that moves leaves its window behind (rule 3).");
  SayCatchUp(runtime, text);
  text.Say("No commit shows " + UnprovenWork(runtime) +
           ". If the process dies then, the next owner handles it again.");
  text.Say("At least the last " + std::to_string(options.memory.remember) +
           " finished ids are remembered. A copy that comes later than that is taken for new.");
  SayIds(runtime, text);
}

}  // namespace

void SayMemory(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  SayMemoryLimits(options, limits);
  SayLevel(options,
           {.twice = UnprovenWork(options.runtime) + ", and for what was running.",
            .known_while = "this process lives and keeps its partitions"},
           limits, holds);
}

}  // namespace oncemq
