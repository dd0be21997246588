// SPDX-License-Identifier: Apache-2.0
// Locks over TLS: what waits is woken there, and a server that is started again is found again.
#include <gtest/gtest.h>

#include <thread>

#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "support/eventually.h"
#include "support/redis_tls_server.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kLong{60'000};

class RedisTlsLocks : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  static std::unique_ptr<LockDomain> Open(const RedisTlsServer& server) {
    auto engine = OpenLockEngine(server.url());
    EXPECT_TRUE(engine.has_value()) << ToString(engine.error());
    return engine ? *LockDomain::Open(*engine, {.lease = kLong}) : nullptr;
  }
  static std::string Clients(RedisTlsServer& server, const std::vector<std::string_view>& which) {
    const auto client = RedisClient::Open(*ParseRedisEndpoint(server.url()));
    RedisCommand command{"CLIENT", "LIST"};
    command.insert(command.end(), which.begin(), which.end());
    const auto reply = (*client)->Run(command);
    return reply ? reply->text : "";
  }

  TlsAuthority authority_;
};

TEST_F(RedisTlsLocks, AWaiterIsWokenOverTls) {
  RedisTlsServer server(authority_);
  const auto first = Open(server);
  const auto second = Open(server);
  ASSERT_TRUE(first && second);
  auto held = first->Acquire("x");
  ASSERT_TRUE(held.has_value() && held->has_value());
  std::thread waits([&second] {
    const auto lease = second->Acquire("x");
    EXPECT_TRUE(lease.has_value() && lease->has_value());
  });
  const std::string there = "laddr=" + server.address() + " ";
  EXPECT_TRUE(Eventually(milliseconds(20'000), [&] {
    return Clients(server, {"TYPE", "pubsub"}).find(there) != std::string::npos;
  }));
  EXPECT_EQ((*held)->Release(), Released::kYes);
  waits.join();
}

TEST_F(RedisTlsLocks, NobodyIsConnectedPlainly) {
  RedisTlsServer server(authority_);
  const auto domain = Open(server);
  ASSERT_TRUE(domain);
  const auto held = domain->Acquire("x");
  ASSERT_TRUE(held.has_value() && held->has_value());
  // Who looked whether it had started hangs up by and by.
  const std::string plain = "laddr=127.0.0.1:" + std::to_string(server->port()) + " ";
  EXPECT_TRUE(Eventually(milliseconds(20'000),
                         [&] { return Clients(server, {}).find(plain) == std::string::npos; }));
}

TEST_F(RedisTlsLocks, NamesCanBeHadAgainFromAServerThatWasStartedAgain) {
  RedisTlsServer server(authority_);
  const auto domain = Open(server);
  ASSERT_TRUE(domain);
  ASSERT_TRUE(domain->Acquire("x").has_value());
  server->Kill9();
  server->Restart();
  const auto again = domain->Acquire("y");
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_TRUE(again->has_value());
}

TEST_F(RedisTlsLocks, SeveralMastersVoteOverTlsUnlessOneIsNotToBeTrusted) {
  const RedisTlsServer one(authority_);
  const RedisTlsServer two(authority_);
  const RedisTlsServer three(authority_);
  const RedisTlsServer strange(authority_,
                               {.certificate = authority_.Issue({.of = "DNS:elsewhere"})});
  const std::string ca = "?ca=" + authority_.file().string();
  const std::string hosts = "redlocks://" + one.address() + "," + two.address() + ",";
  auto engine = OpenLockEngine(hosts + three.address() + ca);
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  const auto domain = LockDomain::Open(*engine, {.lease = kLong});
  const auto held = (*domain)->Acquire("x");
  ASSERT_TRUE(held.has_value()) << ToString(held.error());
  EXPECT_TRUE(held->has_value());
  engine = OpenLockEngine(hosts + strange.address() + ca);
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, Code::kInvalid);
  engine = OpenLockEngine("redlock" + (hosts + three.address() + ca).substr(8));
  ASSERT_FALSE(engine.has_value()) << "what is said of TLS is not for those without";
}

TEST_F(RedisTlsLocks, AServerThatIsNotToBeTrustedGivesNoLocks) {
  RedisTlsServer server(authority_, {.certificate = authority_.Issue({.of = "DNS:elsewhere"})});
  const auto engine = OpenLockEngine(server.url());
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
