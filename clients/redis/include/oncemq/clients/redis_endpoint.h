// SPDX-License-Identifier: Apache-2.0
// RedisEndpoint: where a Redis is, and who we are there.
//
//   redis://[user[:password]@]host[:port][/database]
//   redis-sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/database]
//   rediss://...[?tls], rediss-sentinel://...[?tls]   the same over TLS, to the sentinels too
//   unix:///path/to/socket[?db=database]
//
// tls: some of ca=FILE, cert=FILE and key=FILE, server_name=NAME, with & between them.
// User, password, master, path, files and names may be percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

struct RedisHost {
  std::string host;
  uint16_t port = 6379;
};

struct RedisEndpoint {
  std::vector<RedisHost> hosts;  // one; or the sentinels that know the master
  std::string master;            // what the sentinels call it; empty: no sentinels
  std::string socket;            // instead of a host
  // With TLS the server must show a certificate of a known authority for its host, or it is
  // refused. There is no way around that.
  bool tls = false;
  std::string ca_file;           // the authorities; empty: the system's
  std::string certificate_file;  // ours, if the server wants one, in PEM
  std::string key_file;          // its key, in PEM and without a password
  std::string server_name;       // stands in the certificate; empty: the host that we connect to
  std::string user;              // empty: the default user
  std::string password;          // empty: none is asked for
  int database = 0;
  // Asked after the server has refused user and password. Set it where they change while the
  // program runs.
  ReadLogin read_login = {};
};

// Failures: kInvalid, which never repeats the password.
Result<RedisEndpoint> ParseRedisEndpoint(std::string_view url);
// For people: without user and password.
std::string ToString(const RedisEndpoint& endpoint);

}  // namespace oncemq
