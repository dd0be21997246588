// SPDX-License-Identifier: Apache-2.0
// The windows that a park storm is played over.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "park_storm.h"
#include "seeded_rounds.h"
#include "support/kafka_broker.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/require_backend.h"

namespace oncemq::testing {

// As many rounds as ONCEMQ_PARK_ROUNDS says: with the assignors in turn.
class ParkStormTest : public ::testing::TestWithParam<ParkStormWindow> {
 protected:
  void Play(const std::string& name, const ParkStormSize& size, uint64_t rounds) {
    ONCEMQ_REQUIRE_KAFKA();
    if (GetParam() == ParkStormWindow::kRedisGuarded) {
      ONCEMQ_REQUIRE_REDIS();
    } else {
      ONCEMQ_REQUIRE_POSTGRES();
    }
    const std::string bootstrap = SharedKafka::Get().bootstrap();
    ForEachSeed("ONCEMQ_PARK_ROUNDS", rounds, [&](uint64_t seed) {
      ParkStorm(bootstrap, name + Name({GetParam(), 0}) + std::to_string(seed), size, GetParam(),
                seed)
          .Run();
    });
  }

 public:
  static std::string Name(const ::testing::TestParamInfo<ParkStormWindow>& window) {
    switch (window.param) {
      case ParkStormWindow::kPostgresAtomic:
        return "PostgresAtomic";
      case ParkStormWindow::kPostgresGuarded:
        return "PostgresGuarded";
      case ParkStormWindow::kRedisGuarded:
        break;
    }
    return "RedisGuarded";
  }
};

#define ONCEMQ_PARK_STORMS(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(                                                                  \
      Windows, suite,                                                                        \
      ::testing::Values(ParkStormWindow::kPostgresGuarded, ParkStormWindow::kPostgresAtomic, \
                        ParkStormWindow::kRedisGuarded),                                     \
      suite::Name)

}  // namespace oncemq::testing
