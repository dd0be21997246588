// SPDX-License-Identifier: Apache-2.0
#include "http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <random>
#include <thread>

#include "server_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr milliseconds kShort{1'000};

TEST_F(HttpServerTest, AnswersOneRequestAndLetsGo) {
  Start();
  RawClient client(path_);
  client.Send(RawClient::Request(Echo("a")) + RawClient::Request(Echo("b")));
  const std::string bytes = client.ReadToTheEnd();
  EXPECT_THAT(bytes, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(bytes, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(bytes, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(bytes, EndsWith("\r\n\r\n{\"text\":\"a\"}\n")) << "and nothing else";
}

TEST_F(HttpServerTest, ARequestMayComeByteByByte) {
  Start();
  RawClient client(path_);
  for (const char c : RawClient::Request(Echo("slow"))) {
    client.Send(std::string(1, c));
  }
  EXPECT_EQ(client.Answer()["text"], "slow");
}

TEST_F(HttpServerTest, HeadHasNoBodyAndOtherMethodsAreRefused) {
  Start();
  RawClient head(path_);
  head.Send("HEAD " + Echo("a") + " HTTP/1.1\r\n\r\n");
  const std::string bytes = head.ReadToTheEnd();
  EXPECT_THAT(bytes, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(bytes, EndsWith("\r\n\r\n"));
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    RawClient client(path_);
    client.Send(std::string(method) + " " + Echo("a") + " HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(client.Error(), "this service takes only GET: it changes nothing") << method;
    EXPECT_THAT(client.status(), StartsWith("HTTP/1.1 405 "));
  }
  EXPECT_EQ(calls_, 1);
}

TEST_F(HttpServerTest, ManyClientsAtOnceAreAllAnswered) {
  Start(milliseconds(20'000), 4);
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; round++) {
        RawClient client(path_);
        const std::string text = std::to_string(i) + "/" + std::to_string(round);
        client.Get(Echo(text));
        right += client.Answer()["text"] == text ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 400);
}

TEST_F(HttpServerTest, ClientsThatSayNothingHoldUpNobody) {
  Start();
  RawClient silent(path_);
  RawClient half(path_);
  half.Send("GET /v1");
  ExpectItServes();
}

TEST_F(HttpServerTest, AClientThatSaysNothingIsLetGoAtItsDeadline) {
  Start(kShort);
  RawClient silent(path_);
  EXPECT_EQ(silent.Error(), "the request does not come in time");
  RawClient half(path_);
  half.Send("GET /v1");
  EXPECT_EQ(half.Error(), "the request does not come in time");
  EXPECT_THAT(half.status(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(calls_, 0);
  ExpectItServes();
}

TEST_F(HttpServerTest, ADripOfBytesDoesNotPutTheDeadlineOff) {
  Start(kShort);
  RawClient client(path_);
  client.Send("GET /v1/echo HTTP/1.1\r\nX: ");
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    client.Send("x");
    return client.LetGo();
  }));
  EXPECT_EQ(calls_, 0);
}

TEST_F(HttpServerTest, AClientThatDoesNotTakeItsAnswerIsLetGo) {
  Start(kShort);
  RawClient client(path_);
  client.Get("/v1/long");
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return client.LetGo(); }));
  EXPECT_LT(client.ReadToTheEnd().size(), kMostAdminAnswer / 2);
  ExpectItServes();
}

TEST_F(HttpServerTest, ALongAnswerArrivesWhole) {
  Start();
  RawClient client(path_);
  client.Get("/v1/long");
  ExpectItServes();  // meanwhile
  EXPECT_EQ(client.Answer().get<std::string>().size(), kMostAdminAnswer - 100);
}

TEST_F(HttpServerTest, ARequestAboveTheLimitIsRefusedWithoutItsRest) {
  Start();
  RawClient lines(path_);
  lines.Send("GET " + Echo("a") + " HTTP/1.1\r\n");
  for (size_t sent = 0; sent < 3 * kMostHttpRequest; sent += 8) {
    lines.Send("a: bcd\r\n");
  }
  EXPECT_EQ(lines.Error(), "a request has at most 65536 bytes");
  EXPECT_THAT(lines.status(), StartsWith("HTTP/1.1 431 "));
  RawClient endless(path_);
  endless.Send(std::string(kMostHttpRequest + 10, 'x'));
  EXPECT_EQ(endless.Error(), "a request has at most 65536 bytes");
  RawClient target(path_);
  target.Get(Echo(std::string(10'000, 'x')));
  EXPECT_EQ(target.Error(), "this is no request of HTTP/1.1");
  EXPECT_THAT(target.status(), StartsWith("HTTP/1.1 414 "));
  RawClient header(path_);
  header.Send("GET " + Echo("a") + " HTTP/1.1\r\nX: " + std::string(10'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(header.Error(), HasSubstr("no request"));
  EXPECT_EQ(calls_, 0);
  RawClient many(path_);
  std::string text = "GET " + Echo("a") + " HTTP/1.1\r\n";
  while (text.size() < kMostHttpRequest - 8) {
    text += "a:b\r\n";
  }
  many.Send(text + "\r\n");
  EXPECT_EQ(many.Answer()["text"], "a");
}

TEST_F(HttpServerTest, ABodyIsNeverRead) {
  Start();
  for (const char* header : {"Content-Length: 18446744073709551615", "Content-Length: 1000000",
                             "Transfer-Encoding: chunked", "Content-Encoding: br"}) {
    RawClient client(path_);
    client.Send("GET " + Echo("a") + " HTTP/1.1\r\n" + header + "\r\n\r\n");
    EXPECT_EQ(client.Answer()["text"], "a") << header;
  }
}

// A range costs stack by the byte, and an answer's memory for each; compression costs seconds.
TEST_F(HttpServerTest, ARangeOrAnEncodingChangesNothing) {
  Start();
  std::string ranges = "0-";
  while (ranges.size() < 8'000) {
    ranges += ",0-";
  }
  for (const std::string& header :
       {"Range: bytes=" + ranges, "rAnGe:bytes=" + ranges,
        "Range: bytes=" + std::string(8'000, '1') + "-", std::string("Accept-Encoding: gzip, br"),
        std::string("Expect: 100-continue")}) {
    RawClient client(path_);
    client.Send("GET " + Echo("a") + " HTTP/1.1\r\n" + header + "\r\n\r\n");
    EXPECT_EQ(client.Answer()["text"], "a") << header.substr(0, 20);
    EXPECT_EQ(client.status(), "HTTP/1.1 200 OK") << header.substr(0, 20);
  }
}

TEST_F(HttpServerTest, AClientThatEndsInTheMiddleIsToldWhere) {
  Start();
  RawClient half(path_);
  half.Send("GET /v1");
  half.SayNoMore();
  EXPECT_EQ(half.Error(), "the request ends after 7 bytes");
  RawClient whole(path_);
  whole.Get(Echo("x"));
  whole.SayNoMore();
  EXPECT_EQ(whole.Answer()["text"], "x") << "that its request is all it has to say is no fault";
}

TEST_F(HttpServerTest, OneThatGoesAwayAtAnyMomentHurtsNobody) {
  Start();
  const std::string request = RawClient::Request(Echo("x"));
  for (int round = 0; round < 5; round++) {
    for (size_t length = 0; length <= request.size(); length++) {
      RawClient client(path_);
      client.Send(request.substr(0, length));
    }
    RawClient(path_).Get("/v1/long");
    ExpectItServes();  // none of them has kept a place
  }
}

TEST_F(HttpServerTest, GarbageIsRefusedOrLetGo) {
  Start();
  std::mt19937 random(1);
  for (int i = 0; i < 100; i++) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(random());
    }
    RawClient client(path_);
    client.Send(bytes + "\r\n\r\n");
    EXPECT_EQ(client.Error(), "this is no request of HTTP/1.1");
  }
  for (const char* request :
       {"GET / HTTP/2\r\n\r\n", "GET /\r\n\r\n", "\r\n\r\n", "\r\n\r\n\r\n\r\n",
        "FETCH / HTTP/1.1\r\n\r\n", "GET  /  HTTP/1.1  x\r\n\r\n"}) {
    RawClient client(path_);
    client.Send(request);
    EXPECT_THAT(client.Error(), HasSubstr("no request")) << request;
  }
  EXPECT_EQ(calls_, 0);
  ExpectItServes();
}

TEST_F(HttpServerTest, MoreClientsThanItTakesWaitForAPlace) {
  Start(milliseconds(20'000), 2);
  std::deque<RawClient> first;
  first.emplace_back(path_);
  first.emplace_back(path_);
  RawClient third(path_);
  third.Get(Echo("x"));
  SleepFor(milliseconds(200));
  EXPECT_FALSE(third.LetGo());
  first.front().Get(Echo("x"));
  EXPECT_EQ(first.front().Answer()["text"], "x") << "those that it has are served";
  EXPECT_EQ(third.Answer()["text"], "x") << "and their places are free again";
}

TEST_F(HttpServerTest, OthersAreRefusedBeforeTheySayAnything) {
  Start(milliseconds(20'000), 8, [](uid_t user) { return user != geteuid(); });
  RawClient client(path_);
  EXPECT_EQ(client.Error(), "only the service's own user and root may ask");
  EXPECT_THAT(client.status(), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(calls_, 0);
}

TEST(MayQuery, TheServicesOwnUserAndRootMay) {
  EXPECT_TRUE(MayQuery(1000, 1000));
  EXPECT_TRUE(MayQuery(0, 1000));
  EXPECT_FALSE(MayQuery(1001, 1000));
  EXPECT_FALSE(MayQuery(1000, 0));
}

TEST_F(HttpServerTest, ItEndsAtOnceWhileClientsHang) {
  Start(std::chrono::hours(1));
  RawClient silent(path_);
  RawClient half(path_);
  half.Send("G");
  RawClient unread(path_);
  unread.Get("/v1/long");
  ExpectItServes();
  server_.reset();
  EXPECT_EQ(silent.ReadToTheEnd(), "");
  listener_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(HttpServerTest, TheTimeThatACommandTakesIsNotItsClients) {
  Start(kShort);
  RawClient client(path_);
  client.Get("/v1/wait");
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return calls_ == 1; }));
  SleepFor(2 * kShort);
  go_on_.set_value();
  EXPECT_EQ(client.Answer().get<std::string>().size(), kMostAdminAnswer / 2);
}

TEST_F(HttpServerTest, ItsEndWaitsForACommandThatRuns) {
  Start();
  RawClient client(path_);
  client.Get("/v1/wait");
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return calls_ == 1; }));
  std::atomic<bool> ended{false};
  std::jthread end([&] {
    server_.reset();
    ended = true;
  });
  client.ReadToTheEnd();  // let go at once
  EXPECT_FALSE(ended);
  go_on_.set_value();
}

TEST_F(HttpServerTest, ACommandThatThrowsIsARefusal) {
  commands_.Add({.name = "throw", .run = [](const Json&) -> Result<nlohmann::ordered_json> {
                   throw std::runtime_error("no memory");
                 }});
  Start();
  RawClient client(path_);
  client.Get("/v1/throw");
  EXPECT_EQ(client.Error(), "the command failed: no memory");
}

TEST_F(HttpServerTest, ADescriptorAboveTheSetOfSelectIsServed) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur <= 1'100) {
    GTEST_SKIP() << "the system gives too few descriptors";
  }
  std::vector<OwnedFd> many;
  while (many.empty() || many.back().get() < 1'050) {
    many.emplace_back(dup(0));
  }
  Start();
  ExpectItServes();
}

TEST_F(HttpServerTest, WithoutDescriptorsClientsWait) {
  Start();
  const OwnedFd fd = NewUnixSocket(0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(ConnectUnix(fd, path_), 0);
  SleepFor(milliseconds(300));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string request = RawClient::Request(Echo("x"));
  ASSERT_EQ(send(fd.get(), request.data(), request.size(), 0), ssize_t(request.size()));
  char bytes[15] = {};
  ASSERT_EQ(recv(fd.get(), bytes, sizeof bytes, MSG_WAITALL), ssize_t(sizeof bytes));
  EXPECT_EQ(std::string(bytes, sizeof bytes), "HTTP/1.1 200 OK");
}

TEST_F(HttpServerTest, TheSignalOfABrokenPipeIsLeftToTheProgram) {
  struct sigaction before {};
  struct sigaction ours {};
  ours.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &ours, &before);
  Start();
  struct sigaction after {};
  sigaction(SIGPIPE, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace oncemq::testing
