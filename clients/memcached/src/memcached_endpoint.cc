// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/memcached_endpoint.h"

#include <utility>

#include "oncemq/base/address.h"

namespace oncemq {
namespace {

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of a memcached: " + why};
}

}  // namespace

Result<MemcachedEndpoint> ParseMemcachedEndpoint(std::string_view url) {
  constexpr std::string_view kScheme = "memcached://";
  if (!url.starts_with(kScheme)) {
    return Invalid("it begins with memcached://");
  }
  url.remove_prefix(kScheme.size());
  if (url.find('@') != std::string_view::npos) {
    return Invalid("no user and password is sent to a memcached");
  }
  if (url.find(',') != std::string_view::npos) {
    return Invalid("one server; several would share the keys among them, and lose those of one");
  }
  auto host = ParseHostAndPort(url, MemcachedEndpoint().port);
  if (!host) {
    return Invalid(host.error().message);
  }
  if (host->host.find_first_of("/?#% ") != std::string::npos) {
    return Invalid("behind memcached:// stand a host and a port, nothing else");
  }
  MemcachedEndpoint endpoint;
  endpoint.host = std::move(host->host);
  endpoint.port = host->port;
  return endpoint;
}

std::string ToString(const MemcachedEndpoint& endpoint) {
  const bool ipv6 = endpoint.host.find(':') != std::string::npos;
  return std::string(ipv6 ? "[" : "") + endpoint.host + (ipv6 ? "]:" : ":") +
         std::to_string(endpoint.port);
}

}  // namespace oncemq
