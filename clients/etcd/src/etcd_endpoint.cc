// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/etcd_endpoint.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/address.h"

namespace oncemq {
namespace {

constexpr std::string_view kScheme = "etcd://";

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of an etcd: " + why};
}

Result<EtcdHost> ParseHost(std::string_view text) {
  auto host = ParseHostAndPort(text, EtcdHost().port);
  if (!host) {
    return Invalid(host.error().message);
  }
  const auto fit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(".:-_%").find(c) != std::string_view::npos;
  };
  if (!std::all_of(host->host.begin(), host->host.end(), fit)) {
    return Invalid("this is no host");
  }
  return EtcdHost{std::move(host->host), host->port};
}

}  // namespace

Result<EtcdEndpoint> ParseEtcdEndpoint(std::string_view url) {
  if (!url.starts_with(kScheme)) {
    return Invalid("it begins with etcd://");
  }
  url.remove_prefix(kScheme.size());
  EtcdEndpoint endpoint;
  auto who = CutUser(url);
  if (!who) {
    return Invalid(who.error().message);
  }
  if (*who && (*who)->user.empty()) {
    return Invalid("before the @ stands a user");
  }
  if (*who) {
    endpoint.user = std::move((*who)->user);
    endpoint.password = std::move((*who)->password);
  }
  if (url.ends_with('/')) {
    url.remove_suffix(1);
  }
  for (bool more = true; more;) {
    const size_t comma = std::min(url.find(','), url.size());
    more = comma < url.size();
    auto host = ParseHost(url.substr(0, comma));
    if (!host) {
      return host.error();
    }
    endpoint.hosts.push_back(*std::move(host));
    url.remove_prefix(comma + (more ? 1 : 0));
  }
  return endpoint;
}

std::string ToString(const EtcdEndpoint& endpoint) {
  std::string text(kScheme);
  for (size_t i = 0; i < endpoint.hosts.size(); i++) {
    const bool ipv6 = endpoint.hosts[i].host.find(':') != std::string::npos;
    text.append(i == 0 ? "" : ",").append(ipv6 ? "[" : "").append(endpoint.hosts[i].host);
    text.append(ipv6 ? "]:" : ":").append(std::to_string(endpoint.hosts[i].port));
  }
  return text;
}

}  // namespace oncemq
