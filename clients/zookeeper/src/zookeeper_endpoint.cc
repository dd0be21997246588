// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/zookeeper_endpoint.h"

#include <algorithm>
#include <optional>

#include "oncemq/base/address.h"

namespace oncemq {
namespace {

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of a ZooKeeper: " + why};
}

bool Plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

Result<ZooKeeperHost> ParseHost(std::string_view text) {
  auto host = ParseHostAndPort(text, ZooKeeperHost().port);
  if (!host) {
    return Invalid(host.error().message);
  }
  const bool ipv6 = text.starts_with('[');
  const auto known = [ipv6](char c) { return Plain(c) || (ipv6 && (c == ':' || c == '%')); };
  if (!std::all_of(host->host.begin(), host->host.end(), known)) {
    return Invalid("this is no name of a host");
  }
  return ZooKeeperHost{std::move(host->host), host->port};
}

Status ParseWho(std::string_view& text, ZooKeeperEndpoint& endpoint) {
  auto who = CutUser(text);
  if (!who) {
    return Invalid(who.error().message);
  }
  if (!*who) {
    return {};
  }
  if ((*who)->user.empty() || (*who)->password.empty() ||
      (*who)->user.find(':') != std::string::npos) {
    return Invalid("before the @ stand a user, without a colon, and a password");
  }
  endpoint.user = std::move((*who)->user);
  endpoint.password = std::move((*who)->password);
  return {};
}

// ZooKeeper's own rules for paths, so that a wrong one shows here.
bool IsPath(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view part = path.substr(0, path.find('/'));
    const auto control = [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
    };
    if (part.empty() || part == "." || part == ".." ||
        std::any_of(part.begin(), part.end(), control)) {
      return false;
    }
    path.remove_prefix(part.size());
  }
  return true;
}

}  // namespace

Result<ZooKeeperEndpoint> ParseZooKeeperEndpoint(std::string_view url) {
  constexpr std::string_view kScheme = "zookeeper://";
  if (!url.starts_with(kScheme)) {
    return Invalid("it begins with zookeeper://");
  }
  url.remove_prefix(kScheme.size());
  ZooKeeperEndpoint endpoint;
  if (const Status done = ParseWho(url, endpoint); !done) {
    return done.error();
  }
  if (const auto path = CutAt(url, '/'); path && !path->empty()) {
    const auto chroot = PercentDecoded("/" + std::string(*path));
    if (!chroot || !IsPath(*chroot)) {
      return Invalid("behind the hosts stands a path of ZooKeeper: /name, or /name/name");
    }
    endpoint.chroot = *chroot;
  }
  for (std::optional<std::string_view> rest = url; rest;) {
    std::string_view one = *rest;
    rest = CutAt(one, ',');
    auto host = ParseHost(one);
    if (!host) {
      return host.error();
    }
    endpoint.hosts.push_back(*std::move(host));
  }
  return endpoint;
}

std::string ToString(const ZooKeeperEndpoint& endpoint) {
  std::string text = "zookeeper://";
  for (size_t i = 0; i < endpoint.hosts.size(); i++) {
    const bool ipv6 = endpoint.hosts[i].host.find(':') != std::string::npos;
    text.append(i == 0 ? "" : ",").append(ipv6 ? "[" : "").append(endpoint.hosts[i].host);
    text.append(ipv6 ? "]:" : ":").append(std::to_string(endpoint.hosts[i].port));
  }
  return text.append(endpoint.chroot);
}

}  // namespace oncemq
