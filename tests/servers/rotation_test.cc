// SPDX-License-Identifier: Apache-2.0
// A password that is changed while a service runs, and comes to it by its file.
#include "rotation_fixture.h"

#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/clients/redis_client.h"
#include "redis_refusals.h"
#include "support/redis_server.h"
#endif

namespace oncemq::testing {
namespace {

#ifdef ONCEMQ_WITH_POSTGRES
TEST_F(RotationFixture, APasswordOfPostgresComesByItsFile) {
  ONCEMQ_REQUIRE_POSTGRES();
  const auto server = PostgresServer::Start();
  const auto admin = *OpenPostgres(*ParsePostgresEndpoint(server->url()));
  const auto say = [&](const std::string& statement) {
    const auto done = admin->Run({statement});
    ASSERT_TRUE(done.has_value()) << statement << ": " << ToString(done.error());
  };
  ASSERT_TRUE(MigratePostgresWindow(server->url(), "oncemq"));
  say("CREATE ROLE app LOGIN PASSWORD 'secret-1'");
  say("GRANT USAGE ON SCHEMA oncemq TO app");
  say("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA oncemq TO app");
  const auto address = [&](const char* password) {
    return "postgres://app:" + std::string(password) +
           "@127.0.0.1:" + std::to_string(server->port()) + "/postgres";
  };
  ExpectGoesOnWithTheNewPassword(
      {.engine = "postgres",
       .keys = "",
       .before = address("secret-1"),
       .after = address("secret-2"),
       .rotate =
           [&] {
             say("ALTER ROLE app PASSWORD 'secret-2'");
             say("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
           },
       .refused =
           [&] {
             return static_cast<int64_t>(
                 server->Logged("FATAL:  password authentication failed for user \"app\""));
           }});
}
#endif

#ifdef ONCEMQ_WITH_REDIS
TEST_F(RotationFixture, APasswordOfRedisComesByItsFile) {
  ONCEMQ_REQUIRE_REDIS();
  const auto server = RedisServer::Start();
  const auto admin = *RedisClient::Open(*ParseRedisEndpoint(server->url()));
  const auto say = [&](const RedisCommand& command) {
    auto reply = admin->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply.value_or(RedisReply{});
  };
  say({"ACL", "SETUSER", "app", "on", ">secret-1", "~oncemq:*", "+@all"});
  const auto address = [&](const char* password) {
    return "redis://app:" + std::string(password) + "@127.0.0.1:" + std::to_string(server->port());
  };
  ExpectGoesOnWithTheNewPassword({.engine = "redis",
                                  .keys = "",
                                  .before = address("secret-1"),
                                  .after = address("secret-2"),
                                  .rotate =
                                      [&] {
                                        say({"ACL", "SETUSER", "app", "resetpass", ">secret-2"});
                                        say({"CLIENT", "KILL", "USER", "app"});
                                      },
                                  .refused =
                                      [&] {
                                        return RefusedLogins(say({"ACL", "LOG"}));
                                      }});
}
#endif

}  // namespace
}  // namespace oncemq::testing
