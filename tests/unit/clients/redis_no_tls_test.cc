// SPDX-License-Identifier: Apache-2.0
// For a hiredis without TLS: nobody listens at these addresses, and nobody is asked.
#include <gtest/gtest.h>

#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

TEST(RedisWithoutTls, AnAddressThatWantsItIsRefusedAndToldWhatIsMissing) {
  EXPECT_FALSE(RedisTlsIsBuilt());
  for (const char* url :
       {"rediss://u:hunter2@127.0.0.1:1", "rediss-sentinel://:hunter2@127.0.0.1:1/orders"}) {
    const auto endpoint = ParseRedisEndpoint(url);
    ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
    const auto client = RedisClient::Open(*endpoint);
    ASSERT_FALSE(client.has_value()) << url;
    EXPECT_EQ(client.error().code, Code::kInvalid);
    EXPECT_EQ(client.error().effect, Effect::kNone);
    EXPECT_NE(client.error().message.find("hiredis_ssl"), std::string::npos)
        << client.error().message;
    EXPECT_EQ(client.error().message.find("hunter2"), std::string::npos);
  }
}

}  // namespace
}  // namespace oncemq
