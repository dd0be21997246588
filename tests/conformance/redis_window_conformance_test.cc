// SPDX-License-Identifier: Apache-2.0
// The window in one Redis under the conformance suite, for ids that cross partitions and for those
// that a partition owns.
#include "redis_window_suite.h"
#include "suite_server.h"

namespace oncemq {
namespace {

testing::RedisWindowPlace Start() {
  const std::string url = testing::SuiteServer<testing::RedisServer>().url();
  return {url, url};
}

TEST(RedisWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterRedisWindow("redis", Start) &&
                                          testing::RegisterRedisWindow("redis_owned", Start, true);

}  // namespace
}  // namespace oncemq
