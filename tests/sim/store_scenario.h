// SPDX-License-Identifier: Apache-2.0
// What stories about stores on disk have in common: their worlds, and looks at what came out.
//
// Thread safety: none.
#pragma once

#include <algorithm>

#include "scenario.h"
#include "surroundings.h"

namespace oncemq::sim {

inline Config OnDisk(Level level) {
  Config config;
  config.placement = static_cast<int64_t>(Placement::kPartitionStores);
  config.level = static_cast<int64_t>(level);
  config.catch_up = 100'000;
  config.copies = 300;
  config.near_copies = 0;
  return config;
}

inline void Strike(Config& config, FaultKind kind, Micros at, int64_t value = 0, int64_t slot = 0) {
  config.faults.push_back({.kind = kind, .at = at, .slot = slot, .value = value});
}

template <class Wanted>
int64_t Count(const RunResult& result, Wanted wanted) {
  const auto& records = result.history.records();
  return std::count_if(records.begin(), records.end(), wanted);
}

inline int64_t Answers(const RunResult& result, ClaimVerdict answer) {
  return Count(result, [&](const Record& record) {
    return record.op == Op::kClaim && record.phase == Phase::kOk &&
           record.value == static_cast<int64_t>(answer);
  });
}

inline int64_t KnownToTheTarget(const RunResult& result) {
  return Count(result, [](const Record& record) {
    return record.op == Op::kEffect &&
           record.value == static_cast<int64_t>(SimTarget::Reply::kAlreadyDone);
  });
}

// How often a situation was met in all seeds.
template <class Check>
uint64_t Met(const Config& config, Situation situation, Check check) {
  uint64_t met = 0;
  Play(config, [&](const RunResult& result, const Sometimes& sometimes) {
    met += sometimes.count(situation);
    check(result);
  });
  return met;
}
inline uint64_t Met(const Config& config, Situation situation) {
  return Met(config, situation, [](const RunResult&) {});
}

inline Config Ageing(Level level) {
  Config config = OnDisk(level);
  config.messages = 120;
  config.copies = 500;
  config.appended_over = config.faults_until = 20 * kSecond;
  config.remember_for = 3 * kSecond;
  return config;
}

}  // namespace oncemq::sim
