// SPDX-License-Identifier: Apache-2.0
#include "admin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <random>
#include <thread>

#include "oncemq/base/bytes.h"
#include "server_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

constexpr milliseconds kShort{1'000};

TEST_F(AdminServerTest, AnswersOneRequestAndLetsGo) {
  Start();
  RawClient client(path_);
  client.SendFrame(Echo("a"));
  client.SendFrame(Echo("b"));
  const std::string bytes = client.ReadToTheEnd();
  FrameReader reader(kMostAnswer);
  ASSERT_EQ(reader.Take(bytes), FrameReader::State::kComplete);
  EXPECT_EQ(bytes.size(), kFrameHead + reader.body().size()) << "and nothing else";
  EXPECT_THAT(std::string(reader.body()), HasSubstr(R"("text":"a")"));
}

TEST_F(AdminServerTest, ARequestMayComeByteByByte) {
  Start();
  RawClient client(path_);
  for (const char c : Framed(Echo("slow"))) {
    client.Send(std::string(1, c));
  }
  EXPECT_EQ(client.Answer()["result"]["text"], "slow");
}

TEST_F(AdminServerTest, ManyClientsAtOnceAreAllAnswered) {
  Start(milliseconds(20'000), 64);
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; round++) {
        RawClient client(path_);
        const std::string text = std::to_string(i) + "/" + std::to_string(round);
        client.SendFrame(Echo(text));
        right += client.Answer()["result"]["text"] == text ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 400);
}

TEST_F(AdminServerTest, ClientsThatSayNothingHoldUpNobody) {
  Start();
  RawClient silent(path_);
  RawClient half(path_);
  half.Send(Framed(Echo("x")).substr(0, 7));
  ExpectItServes();
}

TEST_F(AdminServerTest, AClientThatSaysNothingIsLetGoAtItsDeadline) {
  Start(kShort);
  RawClient silent(path_);
  EXPECT_EQ(silent.ReadToTheEnd(), "");
  RawClient half(path_);
  half.Send(Framed(Echo("x")).substr(0, 7));
  EXPECT_EQ(half.ReadToTheEnd(), "");
  EXPECT_EQ(calls_, 0);
  ExpectItServes();
}

TEST_F(AdminServerTest, ADripOfBytesDoesNotPutTheDeadlineOff) {
  Start(kShort);
  RawClient client(path_);
  client.Send(std::string("\0\0\xFF\0", 4));
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    client.Send("x");
    return client.LetGo();
  }));
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdminServerTest, AClientThatDoesNotTakeItsAnswerIsLetGo) {
  Start(kShort);
  RawClient client(path_);
  client.SendFrame(EncodeAdminRequest({.command = "long"}));
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return client.LetGo(); }));
  EXPECT_LT(client.ReadToTheEnd().size(), kMostAnswer / 2);
  ExpectItServes();
}

TEST_F(AdminServerTest, ALongAnswerArrivesWhole) {
  Start();
  RawClient client(path_);
  client.SendFrame(EncodeAdminRequest({.command = "long"}));
  ExpectItServes();  // meanwhile
  EXPECT_EQ(client.Answer()["result"].get<std::string>().size(), kMostAnswer - 100);
}

TEST_F(AdminServerTest, ARequestAtTheLimitIsTakenAndALongerOneIsNotEvenRead) {
  Start();
  const std::string around = Echo("");
  RawClient at(path_);
  at.SendFrame(Echo(std::string(kMostRequest - around.size(), 'x')));
  EXPECT_EQ(at.Answer()["ok"], true);
  RawClient above(path_);
  above.SendFrame(Echo(std::string(kMostRequest - around.size() + 1, 'x')));
  EXPECT_EQ(above.Error(), "a request of 65537 bytes; at most 65536 are taken");
  RawClient boaster(path_);
  boaster.Send("\xFF\xFF\xFF\xFF");
  EXPECT_EQ(boaster.Error(), "a request of 4294967295 bytes; at most 65536 are taken");
  EXPECT_EQ(calls_, 1);
}

TEST_F(AdminServerTest, AClientThatEndsInTheMiddleIsToldWhere) {
  Start();
  RawClient half(path_);
  half.Send(Framed(Echo("x")).substr(0, 7));
  half.SayNoMore();
  EXPECT_EQ(half.Error(), "the request ends after 7 bytes");
  RawClient whole(path_);
  whole.SendFrame(Echo("x"));
  whole.SayNoMore();
  EXPECT_EQ(whole.Answer()["ok"], true) << "that its request is all it has to say is no fault";
}

TEST_F(AdminServerTest, OneThatGoesAwayAtAnyMomentHurtsNobody) {
  Start();
  const std::string frame = Framed(Echo("x"));
  for (int round = 0; round < 20; round++) {
    for (size_t length = 0; length <= frame.size(); length++) {
      RawClient client(path_);
      client.Send(frame.substr(0, length));
    }
    RawClient(path_).SendFrame(EncodeAdminRequest({.command = "long"}));
    ExpectItServes();  // none of them has kept a place
  }
}

TEST_F(AdminServerTest, GarbageIsAnsweredOrLetGo) {
  constexpr uint32_t kClients = 25;
  Start(kShort, kClients + 1);
  std::mt19937 random(1);
  const auto garbage = [&random] {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(random());
    }
    return bytes;
  };
  for (uint32_t i = 0; i < kClients; i++) {
    RawClient client(path_);
    client.SendFrame(garbage());
    EXPECT_EQ(client.Error(), "the request is no JSON object");
  }
  std::deque<RawClient> clients;  // at a time, or each would wait for its deadline
  for (uint32_t i = 0; i < kClients; i++) {
    clients.emplace_back(path_).Send(garbage());
  }
  for (RawClient& client : clients) {
    client.ReadToTheEnd();
  }
  ExpectItServes();
}

TEST_F(AdminServerTest, AnotherVersionGetsAClearAnswer) {
  Start();
  RawClient client(path_);
  client.SendFrame(R"({"v":9,"command":"echo"})");
  EXPECT_EQ(client.Error(), "version 9 is not known; this service speaks version 1");
}

TEST_F(AdminServerTest, MoreClientsThanItTakesAreToldSo) {
  Start(milliseconds(20'000), 2);
  {
    RawClient first(path_);
    RawClient second(path_);
    RawClient third(path_);
    EXPECT_EQ(third.Error(), "the service has 2 clients at a time, and no more; try again");
    first.SendFrame(Echo("x"));
    EXPECT_EQ(first.Answer()["ok"], true) << "those that it has are served";
  }
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    RawClient client(path_);
    client.SendFrame(Echo("x"));
    return client.Answer()["ok"] == true;
  })) << "and their places are free again";
}

TEST_F(AdminServerTest, OthersAreRefusedBeforeTheySayAnything) {
  Start(milliseconds(20'000), 8, [](uid_t who) { return who != geteuid(); });
  RawClient client(path_);
  EXPECT_EQ(client.Error(), "only the service's own user and root may ask");
  EXPECT_EQ(calls_, 0);
}

TEST(MayQuery, TheServicesOwnUserAndRootMay) {
  EXPECT_TRUE(MayQuery(1000, 1000));
  EXPECT_TRUE(MayQuery(0, 1000));
  EXPECT_FALSE(MayQuery(1001, 1000));
  EXPECT_FALSE(MayQuery(1000, 0));
}

TEST_F(AdminServerTest, ItEndsAtOnceWhileClientsHang) {
  Start();
  RawClient silent(path_);
  RawClient half(path_);
  half.Send("\0");
  RawClient unread(path_);
  unread.SendFrame(EncodeAdminRequest({.command = "long"}));
  ExpectItServes();
  server_.reset();
  EXPECT_EQ(silent.ReadToTheEnd(), "");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(AdminServerTest, TheDeadlineIsKeptByTheServersClock) {
  Start(milliseconds(5'000), 8, Anybody, clock_);
  RawClient silent(path_);
  ExpectItServes();  // so the silent one before it was let in
  clock_.Advance(milliseconds(4'999));
  ExpectItServes();
  EXPECT_FALSE(silent.LetGo());
  clock_.Advance(milliseconds(1));
  ExpectItServes();  // in a later round than the one that dropped the silent one
  EXPECT_TRUE(silent.LetGo());
}

TEST_F(AdminServerTest, TheTimeThatACommandTakesIsNotItsClients) {
  Start(milliseconds(5'000), 8, Anybody, clock_);
  RawClient client(path_);
  client.SendFrame(EncodeAdminRequest({.command = "wait"}));
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return calls_ == 1; }));
  clock_.Advance(std::chrono::hours(1));
  go_on_.set_value();
  EXPECT_EQ(client.Answer()["result"].get<std::string>().size(), kMostAnswer / 2);
}

TEST_F(AdminServerTest, ItsEndWaitsForACommandThatRuns) {
  Start();
  RawClient client(path_);
  client.SendFrame(EncodeAdminRequest({.command = "wait"}));
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return calls_ == 1; }));
  std::jthread end([this] { server_.reset(); });
  go_on_.set_value();
  end.join();
  EXPECT_NE(client.ReadToTheEnd(), "") << "at least as much as the system takes at once";
}

}  // namespace
}  // namespace oncemq::testing
