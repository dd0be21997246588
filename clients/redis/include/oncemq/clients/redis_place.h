// SPDX-License-Identifier: Apache-2.0
// RedisPlace: where a Redis is, and who we are there.
//
//   redis://[user[:password]@]host[:port][/database]
//   rediss://...                                  the same over TLS
//   redis-sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/database]
//   unix:///path/to/socket[?db=database]
//
// User, password, master and path may be percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

struct RedisHost {
  std::string host;
  uint16_t port = 6379;
};

struct RedisPlace {
  std::vector<RedisHost> hosts;  // one; or the sentinels that know the master
  std::string master;            // what the sentinels call it; empty: no sentinels
  std::string socket;            // instead of a host
  bool tls = false;
  std::string ca_file;   // of TLS; empty: the system's
  std::string user;      // empty: the default user
  std::string password;  // empty: none is asked for
  int database = 0;
};

// Failures: kInvalid, which never repeats the password.
Result<RedisPlace> ParseRedisPlace(std::string_view url);
// For people: without user and password.
std::string ToString(const RedisPlace& place);

}  // namespace oncemq
