// SPDX-License-Identifier: Apache-2.0
// The commands `check`, `window show`, `window stat`, `window forget` and `window gc` with a real
// Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <string>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
#include "server_window_fixture.h"
#include "support/loopback_port.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RedisWindowCommand : public ServerWindowFixture {
 protected:
  static void SetUpTestSuite() {
    if (!RedisServer::Missing()) {
      server_ = RedisServer::Start();
    }
  }
  static void TearDownTestSuite() { server_.reset(); }

  // Each test has keys of its own.
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    static int tests = 0;
    prefix_ = "test-" + std::to_string(++tests);
  }

  std::string FileAt(const std::string& at) const {
    return FileWith("redis", at, "  prefix: " + prefix_ + "\n");
  }
  std::string File() const { return FileAt(server_->url()); }
  static std::string UrlOf(const std::string& user) {
    return "redis://" + user + "@127.0.0.1:" + std::to_string(server_->port());
  }

  static std::unique_ptr<RedisServer> StartReplica() {
    return RedisServer::Start({"--replicaof", "127.0.0.1 " + std::to_string(server_->port())});
  }
  // A line of words.
  static RedisReply Say(const std::string& line) {
    std::deque<std::string> words;
    std::istringstream text(line);
    for (std::string word; text >> word;) {
      words.push_back(word);
    }
    const auto client = RedisClient::Open(*ParseRedisEndpoint(server_->url()));
    const auto reply = (*client)->Run(RedisCommand(words.begin(), words.end()));
    EXPECT_TRUE(reply.has_value()) << line << ": " << ToString(reply.error());
    return reply.value_or(RedisReply{});
  }
  size_t Keys() const { return Say("KEYS " + prefix_ + ":*").list.size(); }

  std::unique_ptr<Window> Opened(Level level = Level::kOpaque) const {
    auto window = OpenRedisWindow(server_->url(),
                                  {.prefix = prefix_, .scope = kCommandScope, .level = level});
    EXPECT_TRUE(window.has_value()) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }

  static std::unique_ptr<RedisServer> server_;
  std::string prefix_;
};

std::unique_ptr<RedisServer> RedisWindowCommand::server_;

// The line that docs/windows.md gives an operator.
std::string DocumentedUser() {
  std::ifstream page(ONCEMQ_SOURCE_DIR "/docs/windows.md");
  for (std::string line; std::getline(page, line);) {
    if (const size_t at = line.find("ACL SETUSER payments "); at != std::string::npos) {
      line.erase(0, at);
      return line.replace(line.find("PASSWORD"), 8, "secret");
    }
  }
  ADD_FAILURE() << "the page has no such line";
  return "PING";
}

TEST_F(RedisWindowCommand, CheckTellsWhetherTheServerAnswersAndMakesNothing) {
  const LoopbackPort nobody;
  ExpectCheckReports(FileAt("redis://" + nobody.address()), 6, "Connection refused");
  const Ended good = Run("check " + File());
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("is accepted; its Redis answers"));
  EXPECT_EQ(Keys(), 0u) << "another level may still be chosen";
  ExpectCheckReports(
      FileWith("redis", server_->url(), "  prefix: " + prefix_ + "\n  expect_scope: true\n"), 2,
      "open once without `expect_scope`");
}

TEST_F(RedisWindowCommand, CheckTellsWhatItsUserMayNotDo) {
  prefix_ = "payments";
  Say(DocumentedUser());
  ExpectCheckReports(FileAt(UrlOf("payments:secret2")), 2, "WRONGPASS");
  EXPECT_EQ(Run("check " + FileAt(UrlOf("payments:secret"))).code, 0);
  Say("ACL SETUSER payments -hset");
  ExpectCheckReports(FileAt(UrlOf("payments:secret")), 2, "may not run HSET on ~payments:*");
  Say("ACL SETUSER payments +hset resetkeys ~other:*");
  ExpectCheckReports(FileAt(UrlOf("payments:secret")), 2, "NOPERM");
}

TEST_F(RedisWindowCommand, TheDocumentedUserMayDoAllThatAServiceAndTheCommandsDo) {
  prefix_ = "payments";
  Say(DocumentedUser());
  const auto window = OpenRedisWindow(
      UrlOf("payments:secret"),
      {.prefix = prefix_, .scope = kCommandScope, .level = Level::kOpaque, .replicas = 1});
  ASSERT_TRUE(window.has_value()) << ToString(window.error());
  ExpectForgottenOnceFinished(**window, FileAt(UrlOf("payments:secret")));
  EXPECT_EQ(Run("window stat -c " + FileAt(UrlOf("payments:secret"))).code, 0);
  EXPECT_THAT(Run("doctor " + FileAt(UrlOf("payments:secret"))).out,
              HasSubstr("\n  claims: made 100, "));
  EXPECT_TRUE(Say("KEYS payments:{doctor*").list.empty());
  const auto known = (*window)->Open({.partition = 3, .topic = "payments", .owner = "payments"});
  ASSERT_TRUE(known.has_value()) << ToString(known.error());
  const Announcement one{.source = known->source, .partition = 3, .to = 5, .offset = 5};
  const Status alone = (*window)->Announce({&one, 1});
  ASSERT_FALSE(alone.has_value());
  EXPECT_EQ(alone.error().code, Code::kUnavailable) << "no replica is there";
  const auto replica = StartReplica();
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return (*window)->Announce({&one, 1}).has_value();
  }));
}

// docs/windows.md names them.
TEST_F(RedisWindowCommand, ForIdsThatAPartitionOwnsTheUserNeedsThreeMoreCommands) {
  prefix_ = "payments:owned";  // a scope of another kind than the others'
  Say(DocumentedUser());
  const RedisWindowOptions options{.prefix = prefix_,
                                   .scope = kCommandScope,
                                   .level = Level::kOpaque,
                                   .partition_owned = true,
                                   .remember = std::chrono::hours(1)};
  EXPECT_THAT(OpenRedisWindow(UrlOf("payments:secret"), options).error().message,
              HasSubstr("may not run XADD, XRANGE, XDEL on"));
  Say("ACL SETUSER payments +xadd +xrange +xdel");
  const auto window = OpenRedisWindow(UrlOf("payments:secret"), options);
  ASSERT_TRUE(window.has_value()) << ToString(window.error());
  ASSERT_TRUE((*window)->Open({.partition = 3, .topic = "payments", .owner = "payments"}));
  const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(owner_epoch.has_value()) << ToString(owner_epoch.error());
  const LogTime then(std::chrono::hours(1));
  Progress progress{.partition = 3, .owner_epoch = *owner_epoch, .watermark = then};
  MarkerChange change{};
  ASSERT_TRUE((*window)->Committed({&progress, 1}, {&change, 1}));
  const ClaimRequest claim{.id = "id-1",
                           .token = {0xABC, 5},
                           .at = {0, 3, 17},
                           .owner_epoch = *owner_epoch,
                           .time = then};
  ClaimAnswer answer;
  ASSERT_TRUE((*window)->Claim({&claim, 1}, {&answer, 1}));
  const CompleteRequest done{
      .id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time};
  ASSERT_TRUE((*window)->Complete({&done, 1}, {&change, 1}));
  const Announcement announced{.partition = 3, .to = 18, .offset = 18, .owner_epoch = *owner_epoch};
  const Status told = (*window)->Announce({&announced, 1});
  ASSERT_TRUE(told.has_value()) << ToString(told.error());
  EXPECT_EQ((*(*window)->Stat())[0].history, 1u);
  const std::string file =
      FileWith("redis", UrlOf("payments:secret"), "  prefix: " + prefix_ + "\n", "127.0.0.1:1",
               "partition_owned");
  EXPECT_THAT(Run("window show id-1 -c " + file).out, HasSubstr("done"));
  EXPECT_EQ(Run("window forget id-1 --why test -c " + file).code, 2);
  EXPECT_EQ(Run("check " + file).code, 0);
  progress.frontier = 18;
  progress.watermark = then + std::chrono::hours(3);
  ASSERT_TRUE((*window)->Committed({&progress, 1}, {&change, 1}));
  EXPECT_EQ((*(*window)->Stat())[0].history, 0u);
}

TEST_F(RedisWindowCommand, CheckTellsThatTheServerIsAReplicaOrEvicts) {
  const auto replica = StartReplica();
  ExpectCheckReports(FileAt(replica->url()), 6, "this Redis is no master, but a slave");
  const auto evicts =
      RedisServer::Start({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  ExpectCheckReports(FileAt(evicts->url()), 2, "maxmemory-policy volatile-lru");
}

TEST_F(RedisWindowCommand, CheckTellsThatTheWindowHasAnotherLevel) {
  ASSERT_TRUE(Opened(Level::kGuarded));
  ExpectCheckReports(File(), 2, "was made at level guarded, not opaque");
}

TEST_F(RedisWindowCommand, CheckTellsThatARestartWouldEmptyTheWindow) {
  ASSERT_TRUE(Opened());
  EXPECT_THAT(Run("check " + File()).out,
              HasSubstr("its Redis answers, and keeps nothing over a restart (no append-only "
                        "file). In force:"));
  EXPECT_THAT(Run("check --json " + File()).out,
              HasSubstr("; a restart of its server empties the window"));
  Say("CONFIG SET appendonly yes");
  EXPECT_THAT(Run("check " + File()).out, HasSubstr("its Redis answers. In force:"));
  EXPECT_THAT(Run("check --json " + File()).out, Not(HasSubstr("restart")));
  Say("CONFIG SET appendonly no");
}

TEST_F(RedisWindowCommand, CheckTellsThatReplicasAreMissing) {
  ASSERT_TRUE(Opened());
  const std::string file =
      FileWith("redis", server_->url(), "  prefix: " + prefix_ + "\n  replicas: 1\n");
  const Ended alone = Run("check " + file);
  EXPECT_EQ(alone.code, 0) << "it may come later";
  EXPECT_THAT(alone.out,
              HasSubstr(", and has 0 of 1 replicas: with fewer nothing is committed. In force:"));
  EXPECT_THAT(Run("check " + File()).out, Not(HasSubstr("with fewer"))) << "none is asked for";
  const auto replica = StartReplica();
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return Run("check " + file).out.find("with fewer") == std::string::npos;
  }));
}

TEST_F(RedisWindowCommand, AUserWhoMayOnlyReadMayLook) {
  Say("ACL SETUSER reader reset on >secret -@all +@read +role +info +ping +select +eval +evalsha "
      "+time ~" +
      prefix_ + ":*");
  const std::string file = FileAt(UrlOf("reader:secret"));
  const auto window = Opened();
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(Run("window show id-1 -c " + file).code, 0);
  EXPECT_EQ(Run("window stat -c " + file).code, 0);
  const Ended forgotten = Run("window forget id-1 --why test -c " + file);
  EXPECT_EQ(forgotten.code, 2);
  EXPECT_THAT(forgotten.err, HasSubstr("may not run"));
  ExpectCheckReports(file, 2, "may not run");
  const std::string where = "--prefix " + prefix_ + " --scope " + kCommandScope;
  OfferWindow(UrlOf("reader:secret"));
  for (const std::string& place : {"-c " + file, where}) {
    ExpectGateShows(place);
    ExpectGateResolves(place, 2, "may not run");
  }
  constexpr char kAudited[] = "\"command\":\"gate resolve --applied\"";
  ExpectGateResolves("-c " + File(), 1, kAudited);
  OfferWindow(server_->url());
  ExpectGateResolves(where, 1, kAudited);
}

TEST_F(RedisWindowCommand, AServiceThatStartsWaitsForTheServer) {
  const auto server = RedisServer::Start();
  server->Kill9();
  ExpectRunWaitsFor(*server, FileAt(server->url()));
}

TEST_F(RedisWindowCommand, AnOperationWhoseHolderWasKilledIsShownAsUncertain) {
  ExpectGateShowsASilentHolder(*Opened(), File());
}

TEST_F(RedisWindowCommand, AFinishedIdIsForgottenByHandAndAnOpenOneIsNot) {
  ExpectForgottenOnceFinished(*Opened(), File());
}

TEST_F(RedisWindowCommand, OnlyAnOperatorShortensWhatAScopeRemembers) {
  ExpectOnlyAnOperatorShortens(*Opened(), [&](const std::string& times) {
    return FileWith("redis", server_->url(), "  prefix: " + prefix_ + "\n" + times);
  });
}

TEST_F(RedisWindowCommand, ShowAndStatReadRedisWithoutAService) {
  ExpectNothingToRead(File());
  const std::string scope = std::string(", scope ") + kCommandScope + "\n";
  ExpectShownAndCounted(*Opened(), File(),
                        {.from = "# Read from Redis, prefix " + prefix_ + scope,
                         .begin = "keys " + prefix_ + ":{" + kCommandScope + "}:*" + scope +
                                  "  1 ids, open 0, parked 0\n",
                         .json_from = "redis"});
}

}  // namespace
}  // namespace oncemq::testing
