// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/sql_endpoint.h"

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
std::optional<std::string> ReadHost(std::string_view text, SqlEndpoint& endpoint) {
  if (text.empty()) {
    return std::nullopt;  // a socket stands for it
  }
  const auto host = ParseHostAndPort(text, endpoint.port);
  if (!host) {
    return host.error().message;
  }
  const auto plain = PercentDecoded(host->host);
  if (!plain || host->host.find_first_of(", ") != std::string_view::npos ||
      plain->starts_with('/')) {
    return "this is no host";
  }
  endpoint.host = *plain;
  endpoint.port = host->port;
  return std::nullopt;
}

std::optional<std::string> ReadParameters(std::string_view query, const SqlEndpointRules& rules,
                                          SqlEndpoint& endpoint) {
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
    if (!endpoint.parameters.emplace(name, *plain).second) {
      return "the parameter " + std::string(name) + " stands there twice";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view SqlEndpoint::Parameter(std::string_view name) const {
  const auto at = parameters.find(name);
  return at == parameters.end() ? std::string_view() : std::string_view(at->second);
}

Result<SqlEndpoint> ParseSqlEndpoint(std::string_view url, const SqlEndpointRules& rules) {
  const auto refuse = [&](const std::string& why) { return Invalid(rules.scheme, why); };
  SqlEndpoint endpoint{.scheme = std::string(rules.scheme), .port = rules.port};
  const std::string begin = endpoint.scheme + "://";
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
  endpoint.user = *plain_user;
  endpoint.password = *plain_password;
  endpoint.database = *database;
  if (const auto wrong = ReadHost(url.substr(at + 1), endpoint)) {
    return refuse(*wrong);
  }
  if (const auto wrong = query ? ReadParameters(*query, rules, endpoint) : std::nullopt) {
    return refuse(*wrong);
  }
  if (endpoint.host.empty() == endpoint.Parameter(rules.socket).empty()) {
    return refuse("it needs a host, or else ?" + std::string(rules.socket) + "=");
  }
  return endpoint;
}

Result<SqlEndpoint> ParsePostgresEndpoint(std::string_view url) {
  constexpr std::array<std::string_view, 3> kParameters{"host", "sslmode", "sslrootcert"};
  auto endpoint = ParseSqlEndpoint(url, {"postgres", 5432, "host", kParameters});
  constexpr std::array<std::string_view, 7> kModes{"",        "disable",   "allow",      "prefer",
                                                   "require", "verify-ca", "verify-full"};
  if (endpoint &&
      std::find(kModes.begin(), kModes.end(), endpoint->Parameter("sslmode")) == kModes.end()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the address of a PostgreSQL: sslmode is disable, allow, prefer, require, "
                 "verify-ca or verify-full"};
  }
  return endpoint;
}

std::string ToString(const SqlEndpoint& endpoint) {
  const bool ipv6 = endpoint.host.find(':') != std::string::npos;
  return endpoint.scheme + "://" + (ipv6 ? "[" : "") + endpoint.host + (ipv6 ? "]:" : ":") +
         std::to_string(endpoint.port) + "/" + endpoint.database;
}

}  // namespace oncemq
