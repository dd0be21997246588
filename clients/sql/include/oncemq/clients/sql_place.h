// SPDX-License-Identifier: Apache-2.0
// SqlPlace: where a SQL database is, and who we are there.
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

struct SqlPlace {
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

struct SqlPlaceRules {
  std::string_view scheme;
  uint16_t port = 0;                             // where none is said
  std::string_view socket;                       // the parameter that stands for a host
  std::span<const std::string_view> parameters;  // others are refused
};

// Failures: kInvalid, which never repeats the password.
Result<SqlPlace> ParseSqlPlace(std::string_view url, const SqlPlaceRules& rules);
// postgres://user[:password]@host[:port]/database, as postgres_client.h has it.
Result<SqlPlace> ParsePostgresPlace(std::string_view url);
// For people: without user, password and parameters.
std::string ToString(const SqlPlace& place);

}  // namespace oncemq
