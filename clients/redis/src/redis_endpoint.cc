// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_endpoint.h"

#include <optional>

#include "oncemq/base/address.h"
#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of a Redis: " + why};
}

Result<RedisHost> ParseHost(std::string_view text, uint16_t port) {
  auto host = ParseHostAndPort(text, port);
  return host ? Result<RedisHost>({.host = std::move(host->host), .port = host->port})
              : Invalid(host.error().message);
}

Status ParseDatabase(std::string_view text, RedisEndpoint& endpoint) {
  const auto value = ParseDecimal(text);
  if (!value || *value < 0 || *value > 1'000'000) {
    return Invalid("a database is a number");
  }
  endpoint.database = static_cast<int>(*value);
  return {};
}

Status ParseWho(std::string_view& text, RedisEndpoint& endpoint) {
  auto who = CutUser(text);
  if (!who) {
    return Invalid(who.error().message);
  }
  if (*who) {
    endpoint.user = std::move((*who)->user);
    endpoint.password = std::move((*who)->password);
  }
  return {};
}

// ca=...&cert=... Each once, and none empty: that would mean something else than it looks like.
Status ParseTls(std::string_view text, RedisEndpoint& endpoint) {
  for (std::optional<std::string_view> rest = text; rest;) {
    std::string_view one = *rest;
    rest = CutAt(one, '&');
    const auto value = CutAt(one, '=');
    std::string* into = one == "ca"            ? &endpoint.ca_file
                        : one == "cert"        ? &endpoint.certificate_file
                        : one == "key"         ? &endpoint.key_file
                        : one == "server_name" ? &endpoint.server_name
                                               : nullptr;
    if (into == nullptr) {
      return Invalid("of TLS only ca=, cert=, key= and server_name= can be said");
    }
    const auto plain = PercentDecoded(value.value_or(""));
    if (!plain || plain->empty() || !into->empty()) {
      return Invalid(std::string(one) + "= is empty, not well encoded, or there twice");
    }
    *into = *plain;
  }
  if (endpoint.certificate_file.empty() != endpoint.key_file.empty()) {
    return Invalid("cert= and key= go together");
  }
  return {};
}

Result<RedisEndpoint> ParseSocket(std::string_view text) {
  RedisEndpoint endpoint;
  const auto query = CutAt(text, '?');
  const auto path = PercentDecoded(text);
  if (!path || path->empty()) {
    return Invalid("the path of a socket is missing, or not well encoded");
  }
  endpoint.socket = *path;
  if (query) {
    if (!query->starts_with("db=")) {
      return Invalid("behind the path of a socket only ?db= is known");
    }
    if (const Status done = ParseDatabase(query->substr(3), endpoint); !done) {
      return done.error();
    }
  }
  return endpoint;
}

}  // namespace

Result<RedisEndpoint> ParseRedisEndpoint(std::string_view url) {
  constexpr std::string_view kPlain = "redis://";
  constexpr std::string_view kTls = "rediss://";
  constexpr std::string_view kSentinel = "redis-sentinel://";
  constexpr std::string_view kTlsSentinel = "rediss-sentinel://";
  constexpr std::string_view kSocket = "unix://";
  if (url.starts_with(kSocket)) {
    return ParseSocket(url.substr(kSocket.size()));
  }
  RedisEndpoint endpoint;
  const bool sentinel = url.starts_with(kSentinel) || url.starts_with(kTlsSentinel);
  endpoint.tls = url.starts_with(kTls) || url.starts_with(kTlsSentinel);
  if (!sentinel && !endpoint.tls && !url.starts_with(kPlain)) {
    return Invalid(
        "it begins with redis://, rediss://, redis-sentinel://, rediss-sentinel:// or unix://");
  }
  url.remove_prefix(url.find("://") + 3);
  if (const Status done = ParseWho(url, endpoint); !done) {
    return done.error();
  }
  const auto query = CutAt(url, '?');
  if (query && !endpoint.tls) {
    return Invalid("behind a ? stands what is said of TLS, and that needs rediss://");
  }
  if (const Status done = query ? ParseTls(*query, endpoint) : Status(); !done) {
    return done.error();
  }
  auto path = CutAt(url, '/');
  if (sentinel) {
    std::string_view master = path.value_or("");
    path = CutAt(master, '/');
    const auto plain = PercentDecoded(master);
    if (!plain || plain->empty()) {
      return Invalid("behind the sentinels stands a / and what they call the master");
    }
    endpoint.master = *plain;
  }
  for (std::optional<std::string_view> rest = url; rest;) {
    std::string_view one = *rest;
    rest = CutAt(one, ',');
    auto host = ParseHost(one, sentinel ? 26379 : 6379);
    if (!host) {
      return host.error();
    }
    endpoint.hosts.push_back(*std::move(host));
  }
  if (!sentinel && endpoint.hosts.size() > 1) {
    return Invalid("several hosts are for sentinels only");
  }
  if (path && !path->empty()) {
    if (const Status done = ParseDatabase(*path, endpoint); !done) {
      return done.error();
    }
  }
  return endpoint;
}

std::string ToString(const RedisEndpoint& endpoint) {
  if (!endpoint.socket.empty()) {
    return "unix://" + endpoint.socket + "?db=" + std::to_string(endpoint.database);
  }
  std::string text = endpoint.tls ? "rediss" : "redis";
  text.append(endpoint.master.empty() ? "://" : "-sentinel://");
  for (size_t i = 0; i < endpoint.hosts.size(); i++) {
    const bool ipv6 = endpoint.hosts[i].host.find(':') != std::string::npos;
    text.append(i == 0 ? "" : ",").append(ipv6 ? "[" : "").append(endpoint.hosts[i].host);
    text.append(ipv6 ? "]:" : ":").append(std::to_string(endpoint.hosts[i].port));
  }
  if (!endpoint.master.empty()) {
    text.append("/").append(endpoint.master);
  }
  return text.append("/").append(std::to_string(endpoint.database));
}

}  // namespace oncemq
