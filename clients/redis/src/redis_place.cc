// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_place.h"

#include <optional>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of a Redis: " + why};
}

std::optional<std::string> Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const auto byte = text.size() - i > 2 ? ParseHex(text.substr(i + 1, 2)) : std::nullopt;
    if (!byte) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(*byte));
    i += 2;
  }
  return out;
}

// Cuts `text` at the first `mark`; what is behind it, or nothing if it isn't there.
std::optional<std::string_view> CutAt(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

Result<RedisHost> ParseHost(std::string_view text, uint16_t port) {
  RedisHost host{.host = "", .port = port};
  std::optional<std::string_view> number;
  if (text.starts_with('[')) {  // IPv6
    text.remove_prefix(1);
    const auto behind = CutAt(text, ']');
    if (!behind || (!behind->empty() && !behind->starts_with(':'))) {
      return Invalid("a [ without its ]");
    }
    if (!behind->empty()) {
      number = behind->substr(1);
    }
  } else {
    number = CutAt(text, ':');
  }
  if (text.empty()) {
    return Invalid("a host is missing");
  }
  host.host = text;
  if (number) {
    const auto value = ParseDecimal(*number);
    if (!value || *value < 1 || *value > 65535) {
      return Invalid("a port is a number from 1 to 65535");
    }
    host.port = static_cast<uint16_t>(*value);
  }
  return host;
}

Status ParseDatabase(std::string_view text, RedisPlace& place) {
  const auto value = ParseDecimal(text);
  if (!value || *value < 0 || *value > 1'000'000) {
    return Invalid("a database is a number");
  }
  place.database = static_cast<int>(*value);
  return {};
}

// Takes "user:password@" off the front.
Status ParseWho(std::string_view& text, RedisPlace& place) {
  const size_t at = text.substr(0, text.find('/')).rfind('@');
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view user = text.substr(0, at);
  text.remove_prefix(at + 1);
  const auto password = CutAt(user, ':');
  const auto plain_user = Decoded(user);
  const auto plain_password = Decoded(password.value_or(""));
  if (!plain_user || !plain_password) {
    return Invalid("a % in user or password is not followed by two hexadecimal digits");
  }
  place.user = *plain_user;
  place.password = *plain_password;
  return {};
}

Result<RedisPlace> ParseSocket(std::string_view text) {
  RedisPlace place;
  const auto query = CutAt(text, '?');
  const auto path = Decoded(text);
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
  constexpr std::string_view kSocket = "unix://";
  if (url.starts_with(kSocket)) {
    return ParseSocket(url.substr(kSocket.size()));
  }
  RedisPlace place;
  const bool sentinel = url.starts_with(kSentinel);
  place.tls = url.starts_with(kTls);
  if (!sentinel && !place.tls && !url.starts_with(kPlain)) {
    return Invalid("it begins with redis://, rediss://, redis-sentinel:// or unix://");
  }
  url.remove_prefix((sentinel ? kSentinel : place.tls ? kTls : kPlain).size());
  if (const Status done = ParseWho(url, place); !done) {
    return done.error();
  }
  auto path = CutAt(url, '/');
  if (sentinel) {
    std::string_view master = path.value_or("");
    path = CutAt(master, '/');
    const auto plain = Decoded(master);
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
    return Invalid("several hosts are for redis-sentinel:// only");
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
  std::string text = !place.master.empty() ? "redis-sentinel://"
                     : place.tls           ? "rediss://"
                                           : "redis://";
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
