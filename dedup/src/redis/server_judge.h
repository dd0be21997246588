// SPDX-License-Identifier: Apache-2.0
// ServerJudge: whether the Redis of a new connection may carry the window. After a failover that is
// another server, with a configuration of its own.
//
//   auto judge = std::make_shared<ServerJudge>(scope);
//   RedisClient::Open(endpoint, times, 16, [judge](auto info) { return (*judge)(info); });
//   judge->Opened();
//
// Promise: a server that may evict keys, a cluster and an old version get no call of the window. A
// server without an append-only file that follows one with it is told in the log.
//
// Failure: kInvalid while the window is opened. Later kUnavailable, for which the callers wait: the
// server may be set up anew, or another one becomes master.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"

namespace oncemq {

class ServerJudge {
 public:
  explicit ServerJudge(std::string scope) : scope_(std::move(scope)) {}

  Status operator()(std::string_view info);
  void Opened();
  // The last server that was fit.
  struct Server {
    bool keeps = false;  // an append-only file
    int replicas = 0;    // connected then
  };
  Server server();

 private:
  const std::string scope_;
  Mutex mutex_;
  bool opened_ GUARDED_BY(mutex_) = false;
  Server server_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
