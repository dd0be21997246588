// SPDX-License-Identifier: Apache-2.0
// The window in one Redis under the conformance suite, for ids that cross partitions and for those
// that a partition owns.
#include "clock_set_back.h"
#include "redis_window_suite.h"
#include "suite_server.h"

namespace oncemq {
namespace {

testing::RedisWindowEndpoint Start() {
  const std::string url = testing::SuiteServer<testing::RedisServer>().url();
  return {url, url};
}

TEST(RedisWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterRedisWindow("redis", Start) &&
                                          testing::RegisterRedisWindow("redis_owned", Start, true);

// Where an owner judges by its own clock there is nothing to see.
testing::ClockOfServer ClockOfRedis() {
  static const auto suite =
      std::make_shared<testing::RedisWindowSuite>(Start, /*partition_owned=*/false, "clock/");
  return {"redis", testing::RedisServer::Missing,
          [](const ConformanceSetup& setup) { return suite->OpenNew(setup); },
          [](milliseconds by) { suite->Advance(by); }};
}

}  // namespace

namespace testing {
INSTANTIATE_TEST_SUITE_P(Redis, ClockSetBack, ::testing::Values(ClockOfRedis()));
}  // namespace testing
}  // namespace oncemq
