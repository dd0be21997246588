// SPDX-License-Identifier: Apache-2.0
#include "start_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../admin/raw_client.h"

namespace oncemq::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Error kAway{Code::kUnavailable, Effect::kNone, "connection refused"};

std::string Get(uint16_t port, const std::string& path) {
  RawClient client(port);
  client.Get(path);
  return client.ReadToTheEnd();
}

TEST(StartWatch, ProbesAndScrapesAreAnsweredWhileAStartWaits) {
  ServiceOptions options;
  options.runtime.kafka.group = "shop";
  options.runtime.kafka.topics = {"payments"};
  options.admin.listen = "0";
  StartWatch watch(options);
  EXPECT_EQ(watch.port(), 0) << "no start that waits for nothing opens it twice";
  watch.Waits("the store of the window", kAway, /*window=*/true);
  ASSERT_NE(watch.port(), 0);
  EXPECT_THAT(Get(watch.port(), "/livez"), StartsWith("HTTP/1.1 200 "));
  const std::string ready = Get(watch.port(), "/readyz");
  EXPECT_THAT(ready, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ready, EndsWith("the store of the window does not answer: connection refused\n"));
  EXPECT_THAT(Get(watch.port(), "/metrics"), HasSubstr("oncemq_store_up{group=\"shop\"} 0\n"));
  watch.Waits("the store of the locks", kAway, /*window=*/false);
  EXPECT_THAT(Get(watch.port(), "/readyz"), HasSubstr("the store of the locks"));
  EXPECT_THAT(Get(watch.port(), "/metrics"), HasSubstr("oncemq_store_up{group=\"shop\"} 1\n"));
}

TEST(StartWatch, WithoutAnAddressNothingIsOpened) {
  const ServiceOptions options;
  StartWatch watch(options);
  watch.Waits("the store of the window", kAway, /*window=*/true);
  EXPECT_EQ(watch.port(), 0);
}

}  // namespace
}  // namespace oncemq::testing
