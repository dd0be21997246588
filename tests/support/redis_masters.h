// SPDX-License-Identifier: Apache-2.0
// Several real Redis masters that know nothing of each other, each behind a network of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis_server.h"
#include "tcp_proxy.h"

namespace oncemq::testing {

// Throws std::runtime_error as RedisServer does.
//
// Thread safety: as RedisServer.
class RedisMasters {
 public:
  explicit RedisMasters(size_t count, const std::vector<std::string>& arguments = {}) {
    for (size_t i = 0; i < count; i++) {
      servers_.push_back(RedisServer::Start(arguments));
      networks_.push_back(std::make_unique<TcpProxy>(servers_.back()->port()));
    }
  }

  RedisServer& operator[](size_t index) { return *servers_[index]; }
  TcpProxy& network(size_t index) { return *networks_[index]; }
  size_t size() const { return servers_.size(); }

  // Straight, or through the networks.
  std::string url() const {
    return Url([this](size_t i) { return servers_[i]->port(); });
  }
  std::string url_through_networks() const {
    return Url([this](size_t i) { return networks_[i]->port(); });
  }

 private:
  template <class PortOf>
  std::string Url(const PortOf& port_of) const {
    std::string url = "redlock://";
    for (size_t i = 0; i < servers_.size(); i++) {
      url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port_of(i));
    }
    return url;
  }

  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<TcpProxy>> networks_;
};

}  // namespace oncemq::testing
