// SPDX-License-Identifier: Apache-2.0
// The client over TLS: whom it trusts, and that it never does without.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "oncemq/clients/redis_client.h"
#include "support/redis_tls_server.h"

namespace oncemq::testing {
namespace {

class RedisTlsTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  static Result<std::unique_ptr<RedisClient>> Open(const std::string& url) {
    const auto endpoint = ParseRedisEndpoint(url);
    EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
    return RedisClient::Open(*endpoint);
  }
  static void ExpectWorks(const std::string& url) {
    const auto client = Open(url);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    const auto pong = (*client)->Run(RedisCommand{"PING"});
    EXPECT_TRUE(pong.has_value()) << ToString(pong.error());
  }
  // As one that is not to be trusted, whose certificate says `why`.
  static void ExpectNotTrusted(const std::string& url, const std::string& why) {
    const auto client = Open(url);
    ASSERT_FALSE(client.has_value());
    EXPECT_EQ(client.error().code, Code::kInvalid);
    EXPECT_EQ(client.error().effect, Effect::kNone);
    EXPECT_NE(client.error().message.find("not to be trusted"), std::string::npos)
        << client.error().message;
    EXPECT_NE(client.error().message.find(why), std::string::npos) << client.error().message;
  }

  TlsAuthority authority_;
};

TEST_F(RedisTlsTest, CommandsAndAnswersLargerThanARecordComeThroughInOneRoundTrip) {
  const RedisTlsServer server(authority_);
  const auto client = Open(server.url());
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  const std::string large(1'000'000, 'x');
  const std::vector<RedisCommand> commands{
      {"SET", "k", large}, {"GET", "k"}, {"STRLEN", "k"}, {"GET", "k"}};
  const auto replies = (*client)->Run(commands);
  ASSERT_TRUE(replies.has_value()) << ToString(replies.error());
  EXPECT_EQ((*replies)[1].text, large);
  EXPECT_EQ((*replies)[2].integer, 1'000'000);
  EXPECT_EQ((*replies)[3].text, large);
}

TEST_F(RedisTlsTest, AnIdleConnectionIsUsedAgain) {
  const RedisTlsServer server(authority_);
  const auto client = Open(server.url());
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  const auto first = (*client)->Run(RedisCommand{"CLIENT", "ID"});
  const auto second = (*client)->Run(RedisCommand{"CLIENT", "ID"});
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->integer, second->integer);
}

TEST_F(RedisTlsTest, AServerOfAnUnknownAuthorityIsRefused) {
  TlsAuthority other;
  const RedisTlsServer server(authority_);
  ExpectNotTrusted("rediss://" + server.address() + "?ca=" + other.file().string(), "certificate");
  // The system's authorities have never heard of ours.
  ExpectNotTrusted("rediss://" + server.address(), "certificate");
}

TEST_F(RedisTlsTest, AServerWhoseCertificateIsForAnotherHostIsRefused) {
  const RedisTlsServer server(authority_,
                              {.certificate = authority_.Issue({.of = "DNS:elsewhere"})});
  ExpectNotTrusted(server.url(), "IP address mismatch");
  ExpectNotTrusted(server.url("&server_name=somewhere"), "mismatch");
  ExpectNotTrusted(server.url("&server_name=127.0.0.1"), "IP address mismatch");
  ExpectWorks(server.url("&server_name=elsewhere"));
}

TEST_F(RedisTlsTest, AServerWhoseNameStandsInTheSubjectOnlyIsRefused) {
  const RedisTlsServer server(
      authority_, {.certificate = authority_.Issue({.of = "", .subject = "localhost"})});
  ExpectNotTrusted(server.url("&server_name=localhost"), "mismatch");
}

TEST_F(RedisTlsTest, AHostIsCheckedByTheNameItWasAskedFor) {
  const RedisTlsServer server(authority_,
                              {.certificate = authority_.Issue({.of = "DNS:localhost"})});
  const std::string rest =
      ":" + std::to_string(server.port()) + "?ca=" + authority_.file().string();
  ExpectWorks("rediss://localhost" + rest);
  ExpectNotTrusted("rediss://127.0.0.1" + rest, "IP address mismatch");
}

TEST_F(RedisTlsTest, ANameThatWouldMatchManyIsRefused) {
  const RedisTlsServer server(authority_,
                              {.certificate = authority_.Issue({.of = "DNS:any.example.com"})});
  const auto client = Open(server.url("&server_name=.example.com"));
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kInvalid);
}

TEST_F(RedisTlsTest, AnExpiredCertificateIsRefused) {
  const RedisTlsServer server(authority_, {.certificate = authority_.Issue({.expired = true})});
  ExpectNotTrusted(server.url(), "expired");
}

TEST_F(RedisTlsTest, APlainServerIsRefused) {
  const auto server = RedisServer::Start({"--requirepass", "hunter2"});
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  ASSERT_TRUE(Open("redis://:hunter2@" + host).has_value());
  const auto client = Open("rediss://:hunter2@" + host);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().effect, Effect::kNone);
  EXPECT_EQ(client.error().message.find("hunter2"), std::string::npos);
}

TEST_F(RedisTlsTest, AServerThatWantsTlsIsNotReachedWithout) {
  const RedisTlsServer server(authority_);
  const auto client = Open("redis://" + server.address());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(RedisTlsTest, AServerThatWantsOurCertificateGetsIt) {
  const RedisTlsServer server(authority_, {.wants_ours = true});
  const auto with = [&server](const TlsFiles& ours) {
    return server.url("&cert=" + ours.certificate.string() + "&key=" + ours.key.string());
  };
  TlsAuthority other;
  const TlsFiles ours = authority_.Issue({.of = "", .subject = "a client"});
  ExpectWorks(with(ours));
  for (const std::string& url : {server.url(), with(other.Issue())}) {
    const auto client = Open(url);
    ASSERT_FALSE(client.has_value()) << url;
    EXPECT_EQ(client.error().effect, Effect::kNone);
  }
}

TEST_F(RedisTlsTest, FilesThatAreOfNoUseAreToldBeforeAnythingIsSaid) {
  const RedisTlsServer server(authority_);
  const TlsFiles one = authority_.Issue();
  const TlsFiles two = authority_.Issue();
  const std::string nowhere = one.key.string() + ".not";
  for (const std::string& url :
       {"rediss://" + server.address() + "?ca=" + nowhere,
        "rediss://" + server.address() + "?ca=" + one.key.string(),
        server.url("&cert=" + nowhere + "&key=" + one.key.string()),
        server.url("&cert=" + one.certificate.string() + "&key=" + nowhere),
        server.url("&cert=" + one.certificate.string() + "&key=" + two.key.string())}) {
    const auto client = Open(url);
    ASSERT_FALSE(client.has_value()) << url;
    EXPECT_EQ(client.error().code, Code::kInvalid) << ToString(client.error());
  }
}

TEST_F(RedisTlsTest, AClientGoesOnAfterItsServerWasStartedAgain) {
  RedisTlsServer server(authority_);
  const auto client = Open(server.url());
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  for (int round = 0; round < 3; round++) {
    server->Kill9();
    EXPECT_FALSE((*client)->Run(RedisCommand{"PING"}).has_value());
    server->Restart();
    const auto pong = (*client)->Run(RedisCommand{"PING"});
    EXPECT_TRUE(pong.has_value()) << ToString(pong.error());
  }
}

TEST_F(RedisTlsTest, AServerThatComesBackWithAnotherCertificateIsAskedForItAgain) {
  TlsFiles files = authority_.Issue();
  RedisTlsServer server(authority_, {.certificate = files});
  const auto client = Open(server.url());
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  TlsAuthority other;
  const TlsFiles strange = other.Issue();
  std::filesystem::copy_file(strange.certificate, files.certificate,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(strange.key, files.key,
                             std::filesystem::copy_options::overwrite_existing);
  server->Kill9();
  server->Restart();
  const auto pong = (*client)->Run(RedisCommand{"PING"});
  ASSERT_FALSE(pong.has_value());
  EXPECT_EQ(pong.error().code, Code::kInvalid);
}

TEST_F(RedisTlsTest, AListenerHearsOverTlsAndHearsAgain) {
  RedisTlsServer server(authority_);
  const auto client = Open(server.url());
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  std::atomic<int> connected{0};
  std::atomic<int> heard{0};
  const auto listener = RedisListener::Start(
      *ParseRedisEndpoint(server.url()), {}, "channel",
      [&](std::string_view) {
        heard++;
        heard.notify_all();
      },
      [&](bool hears) {
        connected += hears ? 1 : 0;
        connected.notify_all();
      });
  ASSERT_NE(listener, nullptr);
  const std::string tls_port = "laddr=" + server.address() + " ";
  for (int round = 0; round < 3; round++) {
    connected.wait(round);
    const auto who = (*client)->Run(RedisCommand{"CLIENT", "LIST", "TYPE", "pubsub"});
    ASSERT_TRUE(who.has_value()) << ToString(who.error());
    EXPECT_NE(who->text.find(tls_port), std::string::npos) << who->text;
    const auto told = (*client)->Run(RedisCommand{"PUBLISH", "channel", "word"});
    ASSERT_TRUE(told.has_value()) << ToString(told.error());
    EXPECT_EQ(told->integer, 1);
    heard.wait(round);
    EXPECT_TRUE((*client)->Run(RedisCommand{"CLIENT", "KILL", "TYPE", "pubsub"}));
  }
}

TEST_F(RedisTlsTest, SentinelsAreReachedByTlsOrNotAtAll) {
  const RedisTlsServer master(authority_);
  const std::vector<std::string> watch{
      "--sentinel", "monitor", "orders", "127.0.0.1", std::to_string(master.port()), "1"};
  const RedisTlsServer sentinel(authority_, {.arguments = watch, .sentinel = true});
  const auto at = [](const std::string& address, const TlsAuthority& authority) {
    return "rediss-sentinel://" + address + "/orders?ca=" + authority.file().string();
  };
  ExpectWorks(at(sentinel.address(), authority_));
  TlsAuthority other;
  const auto strange = Open(at(sentinel.address(), other));
  ASSERT_FALSE(strange.has_value());
  EXPECT_NE(strange.error().message.find("not to be trusted"), std::string::npos)
      << strange.error().message;
  const auto plain = Open(at("127.0.0.1:" + std::to_string(sentinel->port()), authority_));
  EXPECT_FALSE(plain.has_value());
}

// The sentinel is to be trusted, and the master that it names is not.
TEST_F(RedisTlsTest, AMasterThatSentinelsNameMustShowACertificateToo) {
  const RedisTlsServer master(authority_,
                              {.certificate = authority_.Issue({.of = "DNS:elsewhere"})});
  const RedisTlsServer sentinel(authority_,
                                {.arguments = {"--sentinel", "monitor", "orders", "127.0.0.1",
                                               std::to_string(master.port()), "1"},
                                 .sentinel = true});
  ExpectNotTrusted(
      "rediss-sentinel://" + sentinel.address() + "/orders?ca=" + authority_.file().string(),
      "IP address mismatch");
}

}  // namespace
}  // namespace oncemq::testing
