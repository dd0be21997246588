// SPDX-License-Identifier: Apache-2.0
// A real Redis that speaks TLS on one port, and plainly on another, which the tests look through.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loopback_port.h"
#include "redis_server.h"
#include "tls_certificates.h"

namespace oncemq::testing {

struct RedisTlsOptions {
  TlsFiles certificate;                     // the server's; empty: one for 127.0.0.1
  bool wants_ours = false;                  // clients must show one, of the same authority
  std::vector<std::string> arguments = {};  // as of RedisServer
  bool sentinel = false;
};

// Throws as RedisServer does.
//
// Thread safety: as RedisServer.
class RedisTlsServer {
 public:
  explicit RedisTlsServer(TlsAuthority& authority, RedisTlsOptions options = {})
      : authority_(authority) {
    if (options.certificate.certificate.empty()) {
      options.certificate = authority.Issue();
    }
    std::vector<std::string> all = std::move(options.arguments);
    for (const std::string& argument :
         {std::string("--tls-port"), std::to_string(port_.number()), std::string("--tls-cert-file"),
          options.certificate.certificate.string(), std::string("--tls-key-file"),
          options.certificate.key.string(), std::string("--tls-ca-cert-file"),
          authority.file().string(), std::string("--tls-auth-clients"),
          std::string(options.wants_ours ? "yes" : "no")}) {
      all.push_back(argument);
    }
    server_ = RedisServer::Start(std::move(all), options.sentinel);
  }

  RedisServer* operator->() const { return server_.get(); }
  uint16_t port() const { return port_.number(); }
  std::string address() const { return port_.address(); }
  // Of who trusts the authority. `more`: "&server_name=x".
  std::string url(const std::string& more = "") const {
    return "rediss://" + address() + "/0?ca=" + authority_.file().string() + more;
  }

 private:
  TlsAuthority& authority_;
  const LoopbackPort port_;
  std::unique_ptr<RedisServer> server_;
};

}  // namespace oncemq::testing
