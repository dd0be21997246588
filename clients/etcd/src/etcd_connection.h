// SPDX-License-Identifier: Apache-2.0
// EtcdConnection: one HTTP connection to one member. The only place that knows the HTTP library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/etcd_endpoint.h"

namespace oncemq {

struct EtcdText {
  int status = 0;  // of HTTP
  std::string body;
  // It ended in another way than the HTTP library knows, as with trailers, which etcd sends behind
  // refusals: an answer only if it is whole as JSON.
  std::optional<Error> broken;
};

// Thread safety: one call at a time; Hang() from any thread.
class EtcdConnection {
 public:
  explicit EtcdConnection(const EtcdHost& host);
  ~EtcdConnection();
  EtcdConnection(const EtcdConnection&) = delete;
  EtcdConnection& operator=(const EtcdConnection&) = delete;

  struct Request {
    const char* path;
    std::string body;
    std::string token;  // of who asks; empty: nobody in particular
    milliseconds connect;
    BootTime until;
  };
  // Connects if it is not connected.
  Result<EtcdText> Post(const Request& etcd_request);
  // The answer in pieces, until `hears` answers false, or at `until`. The connection is of no use
  // after.
  Status Stream(const Request& etcd_request,
                const std::function<bool(int status, std::string_view)>& hears);

  // Ends the call that is under way, and every later one.
  void Hang();

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
