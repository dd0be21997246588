// SPDX-License-Identifier: Apache-2.0
// What is printed for a Redis, applied as it is printed.
#include <gtest/gtest.h>

#include <sstream>

#include "oncemq/clients/redis_client.h"
#include "store_grants_fixture.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

class RedisGrants : public GrantsTest {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start({"--requirepass", "of-the-administrator"});
    catalogue_ = CatalogueOf(server_->url());
    for (const StoreIdentity& who : {Payments(), Reports()}) {
      for (const std::string& line : StatementsFor(catalogue_, who)) {
        EXPECT_EQ(Say(line), "OK") << line;
      }
    }
  }
  // As redis-cli does: words with blanks between.
  std::string Say(const std::string& line) const {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
      words.push_back(word);
    }
    const std::string address = server_->url();
    const auto client = RedisClient::Open(*ParseRedisEndpoint(
        "redis://:of-the-administrator@" + address.substr(address.find("//") + 2)));
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    const auto reply = (*client)->Run(RedisCommand(words.begin(), words.end()));
    return reply ? reply->text : ToString(reply.error());
  }
  Result<RedisReply> SayAs(const StoreIdentity& who, const RedisCommand& command) const {
    const auto client = RedisClient::Open(
        *ParseRedisEndpoint(AddressFor(catalogue_.stores.at("store"), "store", who)));
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    return (*client)->Run(command);
  }

  std::unique_ptr<RedisServer> server_;
  StoreCatalogue catalogue_;
};

TEST_F(RedisGrants, AnApplicationsOwnLocksWorkEntirely) {
  for (const char* scope : {"", "settlement", "refunds"}) {
    const auto one = OpenAs(catalogue_, Payments(), scope);
    const auto other = OpenAs(catalogue_, Payments(), scope);
    ASSERT_TRUE(one && other);
    EverythingWorks(*one, *other);
  }
}

TEST_F(RedisGrants, TheSecondTimeTheyChangeNothing) {
  for (const std::string& line : StatementsFor(catalogue_, Payments())) {
    EXPECT_EQ(Say(line), "OK") << line;
  }
  const auto one = OpenAs(catalogue_, Payments());
  EverythingWorks(*one, *OpenAs(catalogue_, Payments()));
}

TEST_F(RedisGrants, AWrongPasswordIsRefusedByTheServer) {
  const std::string wrong = StorePassword(Reports(), "store");
  CannotOpen(AddressAs(catalogue_, "payments", wrong, Payments()), "payments", wrong,
             Code::kRefused);
  CannotOpen(server_->url(), "payments", "of-the-administrator", Code::kRefused);
}

TEST_F(RedisGrants, TheNamesOfOthersAreRefusedByTheServer) {
  const std::string password = StorePassword(Reports(), "store");
  for (const char* space : {"payments", "payments.settlement", "", "report", "reports.x"}) {
    const auto locks = OpenLockEngine(AddressAs(catalogue_, "reports", password, Reports()), space);
    ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
    NothingWorks(**locks, password);
  }
}

TEST_F(RedisGrants, WhatLocksDoNotNeedIsRefusedByTheServer) {
  EXPECT_TRUE(SayAs(Reports(), {"GET", "oncemq:lock:7:reports:x"}).has_value());
  for (const RedisCommand& command :
       {RedisCommand{"GET", "oncemq:lock:8:payments:x"}, RedisCommand{"FLUSHALL"},
        RedisCommand{"CONFIG", "GET", "*"}, RedisCommand{"ACL", "LIST"}, RedisCommand{"KEYS", "*"},
        RedisCommand{"DEL", "oncemq:lock:7:reports:x"},
        RedisCommand{"SUBSCRIBE", "oncemq:lock:wake:8:payments:0"},
        RedisCommand{"PUBLISH", "oncemq:lock:wake:8:payments:0", "x"},
        RedisCommand{"EVAL", "return redis.call('SET', 'oncemq:lock:8:payments:x', '-')", "0"}}) {
    const auto reply = SayAs(Reports(), command);
    ASSERT_FALSE(reply.has_value()) << command[0];
    const std::string& why = reply.error().message;
    EXPECT_TRUE(why.find("permission") != std::string::npos ||
                why.find("can't access") != std::string::npos)
        << why;
  }
}

}  // namespace
}  // namespace oncemq::testing
