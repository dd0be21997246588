// SPDX-License-Identifier: Apache-2.0
// Runs a configuration, judges it, and says what a reader needs when it fails: the invariant, the
// smallest configuration that still breaks it, the end of its trace, and the command that plays it
// again.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkers/checker.h"
#include "world.h"

namespace oncemq::sim {

struct Judgement {
  std::vector<Violation> violations;  // empty: every promise was kept
  uint64_t hash = 0;
  uint64_t steps = 0;
  std::vector<uint64_t> actor_events;
};

// Adds the situations that it was in to `sometimes`.
Judgement RunAndJudge(const Config& config, Sometimes& sometimes);

// The same failure with fewer faults, less trouble and fewer messages.
Config Shrink(const Config& config, const std::string& invariant);

// Everything about a failed configuration, as text. Shrinks it first.
std::string Explain(const Config& config, const Violation& violation);

// From here on an abort names the configuration that was running.
void NameRunAtAbort(const Config& config);

}  // namespace oncemq::sim
