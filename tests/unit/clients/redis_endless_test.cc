// SPDX-License-Identifier: Apache-2.0
// A server that does not stop to answer: neither time nor memory are its to take.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

// Says `head` to the one who comes, and then zeros until that one goes.
class Endless {
 public:
  explicit Endless(std::string head) : listens_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listens_, generic, length), 0);
    EXPECT_EQ(listen(listens_, 1), 0);
    EXPECT_EQ(getsockname(listens_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
    says_ = std::thread([this, head = std::move(head)] {
      const int fd = accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
      const std::string zeros(1 << 16, '0');
      for (std::string_view text = head; send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0;) {
        text = zeros;
        said_ += text.size();
      }
      close(fd);
    });
  }
  ~Endless() {
    shutdown(listens_, SHUT_RDWR);
    says_.join();
    close(listens_);
  }
  RedisEndpoint endpoint() const { return {.hosts = {{"127.0.0.1", port_}}}; }
  size_t said() const { return said_; }

 private:
  const int listens_;
  uint16_t port_ = 0;
  std::atomic<size_t> said_{0};
  std::thread says_;
};

constexpr RedisTimes kLong{milliseconds(30'000), milliseconds(30'000)};

TEST(RedisEndless, ATextWithoutEndIsGivenUpAfterItsBound) {
  const Endless server("$1000000000\r\n");
  const auto client = RedisClient::Open(server.endpoint(), kLong);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kCorrupt) << ToString(client.error());
  EXPECT_LT(server.said(), size_t{100} << 20);
}

TEST(RedisEndless, AListWithoutEndIsRefusedByItsHead) {
  const Endless server("*1000000000\r\n");
  const auto client = RedisClient::Open(server.endpoint(), kLong);
  ASSERT_FALSE(client.has_value());
  EXPECT_LT(server.said(), size_t{16} << 20);
}

TEST(RedisEndless, AnAnswerThatNeverEndsDoesNotOutliveTheCall) {
  const Endless server("+");
  constexpr RedisTimes kShort{milliseconds(1), milliseconds(1)};
  const auto client = RedisClient::Open(server.endpoint(), kShort);
  ASSERT_FALSE(client.has_value());
  EXPECT_LT(server.said(), size_t{32} << 20) << "it was the time, not the bound";
}

}  // namespace
}  // namespace oncemq
