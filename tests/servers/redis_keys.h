// SPDX-License-Identifier: Apache-2.0
// What a Redis has, and until when.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {

struct RedisKeys {
  size_t count = 0;
  size_t without_end = 0;  // those that would stay for ever
  size_t late = 0;         // those that stay for longer than the latest may
  size_t large = 0;        // those that remember more than a fence
};

inline RedisKeys ScanRedisKeys(RedisClient& client, milliseconds latest) {
  static const RedisScript scan{R"lua(
local page = redis.call('SCAN', ARGV[1], 'COUNT', 1000)
local without_end, late, large = 0, 0, 0
for _, key in ipairs(page[2]) do
  local left = redis.call('PTTL', key)
  if left == -1 then without_end = without_end + 1 end
  if left > tonumber(ARGV[2]) then late = late + 1 end
  if redis.call('STRLEN', key) > 16 then large = large + 1 end
end
return {page[1], #page[2], without_end, late, large}
)lua"};
  RedisKeys keys;
  std::string cursor = "0";
  const std::string most = std::to_string(latest.count());
  do {
    const std::vector<RedisCommand> calls{{cursor, most}};
    const auto page = client.Call(scan, 0, calls);
    EXPECT_TRUE(page.has_value()) << ToString(page.error());
    if (!page || page->front().list.size() != 5) {
      ADD_FAILURE() << "the keys cannot be listed";
      break;
    }
    const std::vector<RedisReply>& said = page->front().list;
    cursor = said[0].text;
    keys.count += static_cast<size_t>(said[1].integer);
    keys.without_end += static_cast<size_t>(said[2].integer);
    keys.late += static_cast<size_t>(said[3].integer);
    keys.large += static_cast<size_t>(said[4].integer);
  } while (cursor != "0");
  return keys;
}

}  // namespace oncemq::testing
