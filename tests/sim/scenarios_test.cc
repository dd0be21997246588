// SPDX-License-Identifier: Apache-2.0
// Stories with one point each: what the swarm meets by chance, played on purpose, with a look at
// the history that a checker of all runs cannot have.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "scenario.h"

namespace oncemq::sim {
namespace {

int64_t Effects(const RunResult& result, SimTarget::Reply reply) {
  const auto& records = result.history.records();
  return std::count_if(records.begin(), records.end(), [&](const Record& record) {
    return record.op == Op::kEffect && record.value == static_cast<int64_t>(reply);
  });
}

// How often an id was granted to somebody while its handler was being called.
int64_t GrantedWhileHandled(const RunResult& result) {
  std::map<uint32_t, Token> handled;
  int64_t count = 0;
  for (const Record& record : result.history.records()) {
    if (record.op == Op::kHandle && record.phase == Phase::kInvoke) {
      handled[record.id] = record.token;
    } else if (record.op == Op::kHandle) {
      handled.erase(record.id);
    } else if (record.op == Op::kClaim && record.phase == Phase::kOk &&
               record.value == static_cast<int64_t>(ClaimVerdict::kGranted)) {
      const auto holder = handled.find(record.id);
      count += holder != handled.end() && holder->second != record.token;
    }
  }
  return count;
}

// Rule 13: copies wait as long as the handler takes, although that is four leases.
TEST(Scenarios, LongHandlersKeepTheirClaims) {
  Config config;
  config.messages = 12;
  config.copies = 500;
  config.crossing = 700;
  config.slow = 500;
  config.slow_time = 4 * kSecond;
  config.lease = kSecond;
  config.level = static_cast<int64_t>(Level::kOpaque);
  uint64_t waited = 0;
  config.max_lease = 300 * kSecond;
  Play(config, [&](const RunResult& result, const Sometimes& sometimes) {
    EXPECT_EQ(GrantedWhileHandled(result), 0);
    waited += sometimes.count(Situation::kClaimInFlight);
  });
  EXPECT_GT(waited, 0U);
}

int64_t HandledAgain(const RunResult& result) {
  std::map<uint32_t, int64_t> calls;
  int64_t again = 0;
  for (const Record& record : result.history.records()) {
    if (record.op == Op::kHandle && record.phase == Phase::kInvoke) {
      again += calls[record.id]++ > 0 ? 1 : 0;
    }
  }
  return again;
}

// Rule 29: the markers die with their process, and what a commit's map has no room for runs again.
// Behind a head that takes long this would be all that was finished meanwhile; so nothing more is
// admitted, and it is what was finished before the map was known to be full.
TEST(Scenarios, WhereNoMarkerGoesAlongAFullMapStopsAdmission) {
  Config config;
  config.level = static_cast<int64_t>(Level::kOpaque);
  config.placement = static_cast<int64_t>(Placement::kPerProcess);
  config.partitions = config.processes = 1;
  config.messages = 800;
  config.keys = 8;
  config.workers = 8;
  config.commit_interval = 50 * kMilli;
  config.map_room = 24;
  config.slow = 4;
  config.slow_time = 3 * kSecond;
  config.faults.push_back({.kind = FaultKind::kCrash, .at = 2500 * kMilli, .value = 100 * kMilli});
  uint64_t full = 0;
  Play(config, [&](const RunResult& result, const Sometimes& sometimes) {
    EXPECT_LE(HandledAgain(result), 30) << "50 ms of arrivals are 13";
    full += sometimes.count(Situation::kMapCut);
  });
  EXPECT_GT(full, 0U);
}

// Rule 1: a process dies between effect and marker, the next owner has the higher fence, and the
// target knows the id all the same.
TEST(Scenarios, AnEffectWithoutItsMarkerIsKnownToTheTarget) {
  Config config;
  config.fence = 1;
  for (int64_t i = 0; i < 6; i++) {
    config.faults.push_back({.kind = FaultKind::kCrashInStep,
                             .at = 100 * kMilli + i * kSecond,
                             .slot = i % 2,
                             .value = static_cast<int64_t>(BatchStep::kHandle)});
  }
  int64_t known = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    known += Effects(result, SimTarget::Reply::kAlreadyDone);
  });
  EXPECT_GT(known, 0);
}

}  // namespace
}  // namespace oncemq::sim
