// SPDX-License-Identifier: Apache-2.0
// `oncemq doctor` with a real Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <sstream>
#include <string>

#include "doctor_fixture.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/loopback_port.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RedisDoctor : public DoctorFixture {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    client_ = *RedisClient::Open(*ParseRedisEndpoint(server_->url()));
  }

  std::string FileAt(const std::string& at, const std::string& more = "") const {
    return FileOf("redis", at, "  prefix: payments\n" + more);
  }
  std::string File() const { return FileAt(server_->url()); }
  std::string UrlOf(const std::string& user) const {
    return "redis://" + user + "@127.0.0.1:" + std::to_string(server_->port());
  }
  // A line of words.
  RedisReply Redis(const std::string& line) const {
    std::deque<std::string> words;
    std::istringstream text(line);
    for (std::string word; text >> word;) {
      words.push_back(word);
    }
    const auto reply = client_->Run(RedisCommand(words.begin(), words.end()));
    EXPECT_TRUE(reply.has_value()) << line << ": " << ToString(reply.error());
    return reply.value_or(RedisReply{});
  }
  int64_t Keys() const { return Redis("DBSIZE").integer; }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisDoctor, NamesTheServerAndLeavesNothingThere) {
  const std::string told = ExpectDoctor(File(), 0);
  EXPECT_THAT(told, HasSubstr("window: " + server_->url() + "/0, ok\n  prefix: payments\n"));
  EXPECT_THAT(told, AnyOf(HasSubstr("\n  server: Redis\n"), HasSubstr("\n  server: Valkey\n")));
  EXPECT_THAT(told, HasSubstr("\n  persistence: append_only_file no, snapshots none\n"));
  EXPECT_THAT(told, HasSubstr("\n  memory: policy noeviction, used "));
  EXPECT_THAT(told, HasSubstr("\n  scope_opened: no\n"));
  EXPECT_THAT(told, HasSubstr("\n  claims: made 100, p50_us "));
  EXPECT_THAT(told, HasSubstr("a restart empties the window (appendonly no)\n"));
  EXPECT_EQ(Keys(), 0);
  ExpectClaimsMade(File());
  EXPECT_EQ(Keys(), 0);
}

TEST_F(RedisDoctor, LeavesTheWindowOfTheServiceAsItIs) {
  Redis("CONFIG SET appendonly yes");
  const auto window = OpenRedisWindow(
      server_->url(), {.prefix = "payments", .scope = kCommandScope, .level = Level::kOpaque});
  ASSERT_TRUE(window) << ToString(window.error());
  const ClaimRequest claim{.id = "id-1", .token = {0xABC, 5}, .at = {0, 3, 17}};
  ClaimAnswer answer;
  ASSERT_TRUE((*window)->Claim({&claim, 1}, {&answer, 1}));
  const int64_t keys = Keys();
  const std::string told = ExpectDoctor(File(), 0);
  EXPECT_EQ(Keys(), keys);
  EXPECT_THAT(told,
              HasSubstr(std::string("\n  scope: ") + kCommandScope + "\n  scope_opened: yes\n"));
  EXPECT_THAT(told,
              HasSubstr("\n  persistence: append_only_file yes, fsync everysec, snapshots none\n"));
  EXPECT_THAT(told, HasSubstr("takes about the last second (appendfsync everysec)\n"));
}

TEST_F(RedisDoctor, AUserWithoutRightsMakesNoClaims) {
  Redis(
      "ACL SETUSER reader reset on >secret -@all +@read +role +info +ping +eval +evalsha +time "
      "~payments:*");
  const std::string told = ExpectDoctor(FileAt(UrlOf("reader:secret")), 2);
  EXPECT_THAT(told, HasSubstr(", refused: the user of the address may not run SET"));
  EXPECT_THAT(told,
              AllOf(HasSubstr("\n  persistence: append_only_file "), Not(HasSubstr("snapshots"))));
  EXPECT_THAT(told, AllOf(HasSubstr("\n  claims: made 0, why "), Not(HasSubstr("p50_us"))));
  EXPECT_EQ(Keys(), 0);
}

TEST_F(RedisDoctor, AServerThatAServiceWouldNotTakeIsNamed) {
  const LoopbackPort nobody;
  EXPECT_THAT(ExpectDoctor(FileAt("redis://u:secret@" + nobody.address()), 6),
              HasSubstr(", does not answer: "));
  Redis("CONFIG SET maxmemory-policy allkeys-lru");
  EXPECT_THAT(ExpectDoctor(File(), 2), HasSubstr("(maxmemory-policy allkeys-lru)"));
  EXPECT_EQ(Keys(), 0);
  Redis("CONFIG SET maxmemory-policy noeviction");
  EXPECT_THAT(ExpectDoctor(FileAt(server_->url(), "  replicas: 1\n"), 1),
              HasSubstr("`window.replicas` is 1, and 0 follow: no commit is sent\n"));
}

}  // namespace
}  // namespace oncemq::testing
