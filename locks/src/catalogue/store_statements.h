// SPDX-License-Identifier: Apache-2.0
// The statements of LockGrants, for each kind of store. Without I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oncemq {

// Names of applications, scopes and spaces hold nothing that any of these languages reads as its
// own (IsApplicationName).
struct GrantOrder {
  std::string_view application;
  std::string_view user;
  std::string_view password;
  std::string_view place;           // the address behind its scheme
  std::vector<std::string> spaces;  // whose names are locked there
  bool locks = false;
  bool record = false;  // of which store is in force
};

std::vector<std::string> RedisStatements(const GrantOrder& order);
std::vector<std::string> PostgresStatements(const GrantOrder& order);
std::vector<std::string> MariadbStatements(const GrantOrder& order);
std::vector<std::string> ZooKeeperStatements(const GrantOrder& order);

}  // namespace oncemq
