// SPDX-License-Identifier: Apache-2.0
// One story for several seeds: judged by every checker, then by a look of its own.
//
// Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "verdict_of_run.h"

namespace oncemq::sim {

template <class Check>
void Play(Config config, Check check) {
  for (int64_t seed = 1; seed <= 20; seed++) {
    config.seed = seed;
    NameRunAtAbort(config);
    const RunResult result = Simulate(config);
    Sometimes sometimes = result.sometimes;
    const std::vector<Violation> violations =
        JudgeAll({config, result.log, result.history, sometimes, &result.stores});
    ASSERT_TRUE(violations.empty()) << Explain(config, violations.front());
    ASSERT_TRUE(result.incidents.empty()) << result.incidents.front();
    check(result, sometimes);
  }
}

}  // namespace oncemq::sim
