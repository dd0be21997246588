// SPDX-License-Identifier: Apache-2.0
// A member at work, and all that its admin socket and its TCP address have to bear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>

#include "../admin/raw_client.h"
#include "oncemq/framework/admin.h"
#include "oncemq/framework/runtime.h"
#include "support/eventually.h"
#include "support/mock_cluster.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

class WatchedServiceTest : public ::testing::Test {
 protected:
  WatchedServiceTest() {
    cluster_.CreateTopic("payments", 2);
    RuntimeOptions options;
    options.kafka.brokers = cluster_.address();
    options.kafka.group = "shop";
    options.kafka.topics = {"payments"};
    options.policy.window = false;
    auto runtime = Runtime::Open(options, nullptr, [this](const Message&, Context&) -> Outcome {
      handled_++;
      return Done{};
    });
    EXPECT_TRUE(runtime) << runtime.error().message;
    runtime_ = *std::move(runtime);
    auto admin = AdminSocket::Open(
        {.socket = path_, .listen = "0", .deadline = milliseconds(500), .connections = 4},
        {.runtime = runtime_.get(), .group = "shop"});
    EXPECT_TRUE(admin) << admin.error().message;
    admin_ = *std::move(admin);
  }

  std::string Get(const std::string& path) const {
    RawClient client(admin_->port());
    client.Get(path);
    return client.ReadToTheEnd();
  }

  MockCluster cluster_{1};
  const TempDir dir_;
  const std::string path_ = dir_.path() / "admin.sock";
  std::atomic<int> handled_{0};
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<AdminSocket> admin_;
};

TEST_F(WatchedServiceTest, IsReadyOnceItHasTakenUpItsWorkAndGoesOnUnderHostileClients) {
  EXPECT_THAT(Get("/livez"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get("/readyz"), EndsWith("\r\n\r\nthe group has assigned nothing yet\n"));
  std::stop_source stop;
  std::jthread run([&] { runtime_->Run(stop.get_token()); });
  EXPECT_TRUE(Eventually(seconds(30), [&] { return Get("/readyz").ends_with("\r\n\r\nok\n"); }));

  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(admin_->port());
  std::deque<OwnedFd> silent;
  for (int i = 0; i < 200; i++) {
    silent.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  TestProducer producer(cluster_.address());
  milliseconds oldest{0};
  for (int i = 0; i < 100; i++) {
    producer.Send({.topic = "payments", .key = "k", .value = "v"});
    producer.Flush();
    RawClient(path_).Get("/v1/status");  // and does not wait for the answer
    oldest = std::max(oldest, runtime_->Report().age);
  }
  EXPECT_TRUE(Eventually(seconds(30), [&] { return handled_ == 100; }));
  EXPECT_LT(oldest, seconds(5)) << "the poll thread goes round";
  stop.request_stop();
  silent.clear();
  run.join();
  EXPECT_THAT(Get("/readyz"), EndsWith("\r\n\r\nit is stopping\n"));
}

}  // namespace
}  // namespace oncemq::testing
