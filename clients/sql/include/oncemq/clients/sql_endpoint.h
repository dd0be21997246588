// SPDX-License-Identifier: Apache-2.0
// SqlEndpoint: where a SQL database is, and who we are there.
//
//   scheme://user[:password]@host[:port]/database[?name=value[&name=value...]]
//
// User, password, database and values may be percent-encoded. The host may be missing where a
// parameter names a socket instead.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/address.h"
#include "oncemq/base/result.h"

namespace oncemq {

struct SqlEndpoint {
  std::string scheme;
  std::string host;  // empty: a parameter names a socket
  uint16_t port = 0;
  std::string user;
  std::string password;  // empty: none is given
  std::string database;
  std::map<std::string, std::string, std::less<>> parameters;
  // Asked after the server has refused them. Set it where they change while the program runs.
  ReadLogin read_login = {};

  // Of a parameter; empty if it isn't there.
  std::string_view Parameter(std::string_view name) const;
};

struct SqlEndpointRules {
  std::string_view scheme;
  uint16_t port = 0;                             // where none is said
  std::string_view socket;                       // the parameter that stands for a host
  std::span<const std::string_view> parameters;  // others are refused
};

// Failures: kInvalid, which never repeats the password.
Result<SqlEndpoint> ParseSqlEndpoint(std::string_view url, const SqlEndpointRules& rules);
// postgres://user[:password]@host[:port]/database, as postgres_client.h has it.
Result<SqlEndpoint> ParsePostgresEndpoint(std::string_view url);
// For people: without user, password and parameters.
std::string ToString(const SqlEndpoint& endpoint);

}  // namespace oncemq
