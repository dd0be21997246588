// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/sql_place.h"

#include <algorithm>
#include <array>
#include <optional>

#include "oncemq/base/address.h"

namespace oncemq {
namespace {

Error Invalid(std::string_view scheme, const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address " + std::string(scheme) + "://...: " + why};
}

// What is wrong with it; nothing when it is right.
std::optional<std::string> ReadHost(std::string_view text, SqlPlace& place) {
  if (text.empty()) {
    return std::nullopt;  // a socket stands for it
  }
  const auto host = ParseHostAndPort(text, place.port);
  if (!host) {
    return host.error().message;
  }
  const auto plain = PercentDecoded(host->host);
  if (!plain || host->host.find_first_of(", ") != std::string_view::npos ||
      plain->starts_with('/')) {
    return "this is no host";
  }
  place.host = *plain;
  place.port = host->port;
  return std::nullopt;
}

std::optional<std::string> ReadParameters(std::string_view query, const SqlPlaceRules& rules,
                                          SqlPlace& place) {
  for (std::optional<std::string_view> rest = query; rest;) {
    std::string_view name = *rest;
    rest = CutAt(name, '&');
    const auto value = CutAt(name, '=');
    const auto plain = value ? PercentDecoded(*value) : std::nullopt;
    if (std::find(rules.parameters.begin(), rules.parameters.end(), name) ==
        rules.parameters.end()) {
      return "a parameter is not known";  // not named: it may be a password in the wrong place
    }
    if (!plain || plain->empty()) {
      return "the parameter " + std::string(name) + " has no value";
    }
    if (!place.parameters.emplace(name, *plain).second) {
      return "the parameter " + std::string(name) + " stands there twice";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view SqlPlace::Parameter(std::string_view name) const {
  const auto at = parameters.find(name);
  return at == parameters.end() ? std::string_view() : std::string_view(at->second);
}

Result<SqlPlace> ParseSqlPlace(std::string_view url, const SqlPlaceRules& rules) {
  const auto refuse = [&](const std::string& why) { return Invalid(rules.scheme, why); };
  SqlPlace place{.scheme = std::string(rules.scheme), .port = rules.port};
  const std::string begin = place.scheme + "://";
  if (!url.starts_with(begin)) {
    return refuse("it begins otherwise");
  }
  url.remove_prefix(begin.size());
  const auto query = CutAt(url, '?');
  const auto path = CutAt(url, '/');
  const size_t at = url.rfind('@');
  if (at == std::string_view::npos) {
    return refuse("a user is missing, which stands before an @");
  }
  std::string_view user = url.substr(0, at);
  const auto password = CutAt(user, ':');
  const auto plain_user = PercentDecoded(user);
  const auto plain_password = PercentDecoded(password.value_or(""));
  const auto database = PercentDecoded(path.value_or(""));
  if (!plain_user || !plain_password || !database) {
    return refuse("a % is not followed by two hexadecimal digits of a byte");
  }
  if (plain_user->empty() || database->empty()) {
    return refuse("a user or a database is missing");
  }
  if (database->find('/') != std::string::npos) {
    return refuse("behind the host stands one name, of a database");
  }
  place.user = *plain_user;
  place.password = *plain_password;
  place.database = *database;
  if (const auto wrong = ReadHost(url.substr(at + 1), place)) {
    return refuse(*wrong);
  }
  if (const auto wrong = query ? ReadParameters(*query, rules, place) : std::nullopt) {
    return refuse(*wrong);
  }
  if (place.host.empty() == place.Parameter(rules.socket).empty()) {
    return refuse("it needs a host, or else ?" + std::string(rules.socket) + "=");
  }
  return place;
}

Result<SqlPlace> ParsePostgresPlace(std::string_view url) {
  constexpr std::array<std::string_view, 3> kParameters{"host", "sslmode", "sslrootcert"};
  auto place = ParseSqlPlace(url, {"postgres", 5432, "host", kParameters});
  constexpr std::array<std::string_view, 7> kModes{"",        "disable",   "allow",      "prefer",
                                                   "require", "verify-ca", "verify-full"};
  if (place &&
      std::find(kModes.begin(), kModes.end(), place->Parameter("sslmode")) == kModes.end()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the address of a PostgreSQL: sslmode is disable, allow, prefer, require, "
                 "verify-ca or verify-full"};
  }
  return place;
}

std::string ToString(const SqlPlace& place) {
  const bool ipv6 = place.host.find(':') != std::string::npos;
  return place.scheme + "://" + (ipv6 ? "[" : "") + place.host + (ipv6 ? "]:" : ":") +
         std::to_string(place.port) + "/" + place.database;
}

}  // namespace oncemq
