// SPDX-License-Identifier: Apache-2.0
#include "admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "server_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class AdminClientTest : public AdminServerTest {
 protected:
  Error Fails(milliseconds within = milliseconds(20'000)) const {
    const auto answer = AskAdmin(path_, {.command = "echo"}, within, SystemClock::Instance());
    return answer ? Error{Code::kInternal, Effect::kNone, "it was answered"} : answer.error();
  }
  // Says these bytes to one client, whatever it asks, and closes.
  std::jthread Impostor(const std::string& says, AdminListener& listener) const {
    return std::jthread([says, fd = listener.fd()] {
      pollfd waited{fd, POLLIN, 0};
      poll(&waited, 1, 20'000);
      const OwnedFd client(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
      [[maybe_unused]] const ssize_t sent =
          send(client.get(), says.data(), says.size(), MSG_NOSIGNAL);
      shutdown(client.get(), SHUT_WR);
      char bytes[4096];
      while (recv(client.get(), bytes, sizeof bytes, 0) > 0) {
      }
    });
  }
};

TEST_F(AdminClientTest, GivesTheResultOfItsCommand) {
  Start();
  const auto answer =
      AskAdmin(path_, {"echo", {{"text", "x"}}}, milliseconds(20'000), SystemClock::Instance());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, nlohmann::ordered_json::parse(R"({"text":"x"})"));
}

TEST_F(AdminClientTest, ARefusalIsItsErrorWord) {
  Start();
  const auto answer =
      AskAdmin(path_, {.command = "jump"}, milliseconds(20'000), SystemClock::Instance());
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_EQ(answer.error().message, "this service knows no command \"jump\"");
}

TEST_F(AdminClientTest, NoSocketADeadOneAndAForeignFileAreToldApart) {
  EXPECT_EQ(Fails().code, Code::kNotFound);
  EXPECT_THAT(Fails().message, HasSubstr("no service runs that offers this socket"));
  {
    const OwnedFd fd = NewUnixSocket();
    const sockaddr_un address = UnixAddress(path_);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(Fails().code, Code::kUnavailable);
  EXPECT_THAT(Fails().message, HasSubstr("has died"));
  const auto far = AskAdmin("/" + std::string(200, 'x'), {.command = "echo"}, milliseconds(1),
                            SystemClock::Instance());
  EXPECT_EQ(far.error().code, Code::kInvalid);
}

TEST_F(AdminClientTest, AServiceThatIsSilentIsNotWaitedForBeyondItsTime) {
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  EXPECT_EQ(Fails(milliseconds(20)).code, Code::kTimeout);
}

TEST_F(AdminClientTest, WhatIsNoServiceIsNotBelieved) {
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  for (const auto& [says, code] : {std::pair(std::string(), Code::kUnavailable),
                                   std::pair(std::string("\0\0", 2), Code::kUnavailable),
                                   std::pair(std::string("HTTP/1.1 400 Bad"), Code::kCorrupt),
                                   std::pair(Framed("[]"), Code::kCorrupt),
                                   std::pair(Framed(std::string(50'000, '[')), Code::kCorrupt)}) {
    const std::jthread impostor = Impostor(says, **listener);
    EXPECT_EQ(Fails().code, code) << says.substr(0, 20);
  }
}

TEST_F(AdminClientTest, ARequestThatNoServiceTakesIsNotSent) {
  const auto answer = AskAdmin(path_, {"echo", {{"text", std::string(kMostRequest, 'x')}}},
                               milliseconds(1), SystemClock::Instance());
  EXPECT_THAT(answer.error().message, HasSubstr("at most 65536 can be sent"));
}

TEST_F(AdminClientTest, ItReadsWhyItWasRefusedThoughNobodyReadsWhatItSays) {
  Start(milliseconds(20'000), 8, [](uid_t) { return false; });
  for (int i = 0; i < 50; i++) {
    const auto answer = AskAdmin(path_, {"echo", {{"text", std::string(60'000, 'x')}}},
                                 milliseconds(20'000), SystemClock::Instance());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "only the service's own user and root may ask");
  }
}

}  // namespace
}  // namespace oncemq::testing
