// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {

// By an answer to ACL LOG, in which an entry stands for as many as its count.
inline int64_t RefusedLogins(const RedisReply& log) {
  int64_t refused = 0;
  for (const RedisReply& entry : log.list) {
    int64_t count = 0;
    bool of_login = false;
    for (size_t i = 0; i + 1 < entry.list.size(); i += 2) {
      count = entry.list[i].text == "count" ? entry.list[i + 1].integer : count;
      of_login = of_login || (entry.list[i].text == "reason" && entry.list[i + 1].text == "auth");
    }
    refused += of_login ? count : 0;
  }
  return refused;
}

}  // namespace oncemq::testing
