// SPDX-License-Identifier: Apache-2.0
// Which servers a window in Redis takes, by their INFO.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/scripted_redis.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

using Lines = std::vector<std::string>;

std::string InfoOf(const Lines& lines) {
  std::string info = "# Server\r\n";
  for (const std::string& line : lines) {
    info += line + "\r\n";
  }
  return info;
}

// As a master without data, as far as the opening of a window asks.
std::string AnswerOfMaster(const std::vector<std::string>& words, const std::string& info) {
  if (words[0] == "ROLE") {
    return "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
  }
  if (words[0] == "INFO") {
    return ScriptedRedis::Bulk(info);
  }
  if (words[0] == "CONFIG") {
    return "*0\r\n";
  }
  if (words.size() != 12) {  // that finds the scope; the other script tries the rights
    return ScriptedRedis::Bulk("");
  }
  std::string scope = "1\n0\n0\n0\n0\n";
  for (const size_t field : {4, 7, 8, 9, 5}) {
    scope += words[field] + "\n";
  }
  return ScriptedRedis::Bulk(scope + words[6]);
}

Status OpeningAt(const Lines& info) {
  const ScriptedRedis server([text = InfoOf(info)](const std::vector<std::string>& words) {
    return AnswerOfMaster(words, text);
  });
  const auto window =
      OpenRedisWindow(server.url(), {.scope = "payments", .level = Level::kGuarded});
  return window ? Status() : window.error();
}

void ExpectRefused(const Lines& info, const char* why) {
  const Status opened = OpeningAt(info);
  ASSERT_FALSE(opened) << why;
  EXPECT_EQ(opened.error().code, Code::kInvalid);
  EXPECT_THAT(opened.error().message, HasSubstr(why));
}

Lines ValkeyWith(const std::string& mode, const std::string& policy) {
  return {"redis_version:7.2.4", "server_name:valkey", "valkey_version:8.0.1",
          "server_mode:" + mode, "maxmemory_policy:" + policy};
}

TEST(RedisWindowServers, AValkeyIsTakenAndNamed) {
  const Lines valkey = ValkeyWith("standalone", "noeviction");
  const Status opened = OpeningAt(valkey);
  EXPECT_TRUE(opened) << ToString(opened.error());
  EXPECT_EQ(RedisServerOf(InfoOf(valkey)), "Valkey 8.0.1");
  EXPECT_EQ(RedisServerOf(InfoOf({"redis_version:7.0.15"})), "Redis 7.0.15");
}

TEST(RedisWindowServers, AnOldVersionIsRefused) {
  ExpectRefused({"redis_version:4.0.14", "redis_mode:standalone", "maxmemory_policy:noeviction"},
                "version 5.0 or newer is needed, this is Redis 4.0.14");
}

TEST(RedisWindowServers, ANodeOfAClusterIsRefused) {
  ExpectRefused({"redis_version:7.0.15", "redis_mode:cluster", "maxmemory_policy:noeviction"},
                "a cluster cannot be used");
  ExpectRefused(ValkeyWith("cluster", "noeviction"), "a cluster cannot be used");
}

TEST(RedisWindowServers, AServerThatMayEvictIsRefused) {
  ExpectRefused(ValkeyWith("standalone", "allkeys-lru"), "maxmemory-policy allkeys-lru");
}

}  // namespace
}  // namespace oncemq::testing
