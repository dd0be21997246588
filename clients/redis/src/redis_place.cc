// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_place.h"

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

Status ParseDatabase(std::string_view text, RedisPlace& place) {
  const auto value = ParseDecimal(text);
  if (!value || *value < 0 || *value > 1'000'000) {
    return Invalid("a database is a number");
  }
  place.database = static_cast<int>(*value);
  return {};
}

Status ParseWho(std::string_view& text, RedisPlace& place) {
  auto who = CutUser(text);
  if (!who) {
    return Invalid(who.error().message);
  }
  if (*who) {
    place.user = std::move((*who)->user);
    place.password = std::move((*who)->password);
  }
  return {};
}

// ca=...&cert=... Each once, and none empty: that would mean something else than it looks like.
Status ParseTls(std::string_view text, RedisPlace& place) {
  for (std::optional<std::string_view> rest = text; rest;) {
    std::string_view one = *rest;
    rest = CutAt(one, '&');
    const auto value = CutAt(one, '=');
    std::string* into = one == "ca"            ? &place.ca_file
                        : one == "cert"        ? &place.certificate_file
                        : one == "key"         ? &place.key_file
                        : one == "server_name" ? &place.server_name
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
  if (place.certificate_file.empty() != place.key_file.empty()) {
    return Invalid("cert= and key= go together");
  }
  return {};
}

Result<RedisPlace> ParseSocket(std::string_view text) {
  RedisPlace place;
  const auto query = CutAt(text, '?');
  const auto path = PercentDecoded(text);
  if (!path || path->empty()) {
    return Invalid("the path of a socket is missing, or not well encoded");
  }
  place.socket = *path;
  if (query) {
    if (!query->starts_with("db=")) {
      return Invalid("behind the path of a socket only ?db= is known");
    }
    if (const Status done = ParseDatabase(query->substr(3), place); !done) {
      return done.error();
    }
  }
  return place;
}

}  // namespace

Result<RedisPlace> ParseRedisPlace(std::string_view url) {
  constexpr std::string_view kPlain = "redis://";
  constexpr std::string_view kTls = "rediss://";
  constexpr std::string_view kSentinel = "redis-sentinel://";
  constexpr std::string_view kTlsSentinel = "rediss-sentinel://";
  constexpr std::string_view kSocket = "unix://";
  if (url.starts_with(kSocket)) {
    return ParseSocket(url.substr(kSocket.size()));
  }
  RedisPlace place;
  const bool sentinel = url.starts_with(kSentinel) || url.starts_with(kTlsSentinel);
  place.tls = url.starts_with(kTls) || url.starts_with(kTlsSentinel);
  if (!sentinel && !place.tls && !url.starts_with(kPlain)) {
    return Invalid(
        "it begins with redis://, rediss://, redis-sentinel://, rediss-sentinel:// or unix://");
  }
  url.remove_prefix(url.find("://") + 3);
  if (const Status done = ParseWho(url, place); !done) {
    return done.error();
  }
  const auto query = CutAt(url, '?');
  if (query && !place.tls) {
    return Invalid("behind a ? stands what is said of TLS, and that needs rediss://");
  }
  if (const Status done = query ? ParseTls(*query, place) : Status(); !done) {
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
    place.master = *plain;
  }
  for (std::optional<std::string_view> rest = url; rest;) {
    std::string_view one = *rest;
    rest = CutAt(one, ',');
    auto host = ParseHost(one, sentinel ? 26379 : 6379);
    if (!host) {
      return host.error();
    }
    place.hosts.push_back(*std::move(host));
  }
  if (!sentinel && place.hosts.size() > 1) {
    return Invalid("several hosts are for sentinels only");
  }
  if (path && !path->empty()) {
    if (const Status done = ParseDatabase(*path, place); !done) {
      return done.error();
    }
  }
  return place;
}

std::string ToString(const RedisPlace& place) {
  if (!place.socket.empty()) {
    return "unix://" + place.socket + "?db=" + std::to_string(place.database);
  }
  std::string text = place.tls ? "rediss" : "redis";
  text.append(place.master.empty() ? "://" : "-sentinel://");
  for (size_t i = 0; i < place.hosts.size(); i++) {
    const bool ipv6 = place.hosts[i].host.find(':') != std::string::npos;
    text.append(i == 0 ? "" : ",").append(ipv6 ? "[" : "").append(place.hosts[i].host);
    text.append(ipv6 ? "]:" : ":").append(std::to_string(place.hosts[i].port));
  }
  if (!place.master.empty()) {
    text.append("/").append(place.master);
  }
  return text.append("/").append(std::to_string(place.database));
}

}  // namespace oncemq
