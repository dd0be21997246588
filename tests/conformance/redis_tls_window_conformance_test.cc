// SPDX-License-Identifier: Apache-2.0
// The window in one Redis under the conformance suite, over TLS.
#include "redis_window_suite.h"
#include "support/redis_tls_server.h"

namespace oncemq {
namespace {

testing::RedisWindowEndpoint Start() {
  static testing::TlsAuthority authority;
  static const testing::RedisTlsServer server(authority);
  return {server.url(), server->url()};
}

TEST(RedisTlsWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterRedisWindow("redis_tls", Start);

}  // namespace
}  // namespace oncemq
