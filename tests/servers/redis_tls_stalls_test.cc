// SPDX-License-Identifier: Apache-2.0
// Servers that say nothing, or too little, while hands are shaken: every call has its end.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "oncemq/clients/redis_client.h"
#include "support/redis_tls_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr RedisTimes kShort{milliseconds(400), milliseconds(600)};
// The same where some calls are to be answered.
constexpr RedisTimes kAnswered{milliseconds(3'000), milliseconds(3'000)};
// Far above both, for slow machines, and far below for ever.
constexpr milliseconds kBounded{20'000};

// Takes every connection, says `first`, and, if it drips, one byte more every few milliseconds.
class Miser {
 public:
  Miser(std::string_view first, bool drips)
      : first_(first), drips_(drips), listens_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listens_, generic, length), 0);
    EXPECT_EQ(listen(listens_, 16), 0);
    EXPECT_EQ(getsockname(listens_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~Miser() {
    ends_ = true;
    thread_.join();
    for (const int fd : connected_) {
      close(fd);
    }
    close(listens_);
  }
  std::string url() const { return "rediss://127.0.0.1:" + std::to_string(port_); }
  // Sooner or later: who has gone meanwhile was met all the same.
  void UntilMet() const { met_.wait(false); }

 private:
  void Run() {
    while (!ends_) {
      pollfd waits{listens_, POLLIN, 0};
      if (poll(&waits, 1, 5) > 0) {
        connected_.push_back(accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC));
        Say(connected_.back(), first_);
        met_ = true;
        met_.notify_all();
      }
      for (size_t i = 0; drips_ && i < connected_.size(); i++) {
        Say(connected_[i], "\x01");
      }
    }
  }
  static void Say(int fd, std::string_view text) {
    // Whether somebody still hears it is no matter.
    [[maybe_unused]] const ssize_t said =
        send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const std::string first_;
  const bool drips_;
  const int listens_;
  uint16_t port_ = 0;
  std::vector<int> connected_;  // the thread's
  std::atomic<bool> met_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

void ExpectTimeout(const std::string& url) {
  const BootTime began = BootNow();
  const auto client = RedisClient::Open(*ParseRedisEndpoint(url), kShort);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kTimeout) << ToString(client.error());
  EXPECT_EQ(client.error().effect, Effect::kNone);
  EXPECT_GE(BootNow() - began, kShort.connect);
  EXPECT_LT(BootNow() - began, kBounded);
}

// The head of a record of 16,000 bytes, in which hands would be shaken.
constexpr std::string_view kHead("\x16\x03\x03\x3e\x80", 5);

TEST(RedisTlsStalls, AServerThatAcceptsAndSaysNothing) {
  const Miser server("", false);
  ExpectTimeout(server.url());
  server.UntilMet();
}

TEST(RedisTlsStalls, AServerThatStopsInTheMiddleOfTheHandshake) {
  const Miser server(kHead, false);
  ExpectTimeout(server.url());
  server.UntilMet();
}

// Each byte comes in time, and the whole never does.
TEST(RedisTlsStalls, AServerThatSaysOneByteAtATime) {
  const Miser server(kHead, true);
  ExpectTimeout(server.url());
  server.UntilMet();
}

TEST(RedisTlsStalls, ASentinelThatSaysNothing) {
  const Miser server("", false);
  const std::string address = server.url().substr(std::string("rediss://").size());
  const BootTime began = BootNow();
  const auto client =
      RedisClient::Open(*ParseRedisEndpoint("rediss-sentinel://" + address + "/orders"), kShort);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().effect, Effect::kNone);
  EXPECT_LT(BootNow() - began, kBounded);
  server.UntilMet();
}

TEST(RedisTlsStalls, AListenerThatNobodyAnswersEnds) {
  const Miser server(kHead, true);
  const BootTime began = BootNow();
  {
    const auto listener = RedisListener::Start(
        *ParseRedisEndpoint(server.url()), kShort, "channel", [](std::string_view) {}, [](bool) {});
    ASSERT_NE(listener, nullptr);
  }
  EXPECT_LT(BootNow() - began, kBounded);
}

TEST(RedisTlsStalls, AServerThatFallsSilentBehindTheHandshake) {
  ONCEMQ_REQUIRE_REDIS();
  TlsAuthority authority;
  RedisTlsServer server(authority);
  TcpProxy network(server.port());
  const std::string url =
      "rediss://127.0.0.1:" + std::to_string(network.port()) + "?ca=" + authority.file().string();
  const auto client = RedisClient::Open(*ParseRedisEndpoint(url), kAnswered);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  network.Set(TcpProxy::Mode::kSwallowReplies);
  const BootTime began = BootNow();
  const auto reply = (*client)->Run(RedisCommand{"INCR", "n"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kTimeout);
  EXPECT_EQ(reply.error().effect, Effect::kUnknown);
  EXPECT_LT(BootNow() - began, kBounded);
  network.Set(TcpProxy::Mode::kPass);
  const auto again = (*client)->Run(RedisCommand{"GET", "n"});
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(again->text, "1");
}

}  // namespace
}  // namespace oncemq::testing
