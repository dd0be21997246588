// SPDX-License-Identifier: Apache-2.0
// RedisConnection: one connection, logged in, to a server that is master. After an Error it is of
// no use any more.
//
// Thread safety: one thread at a time; Hang() from any.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_client.h"
#include "redis_wire.h"

namespace oncemq {

class RedisConnection {
 public:
  // Looking up the name of a host is the system's, and bounded by it alone.
  static Result<std::unique_ptr<RedisConnection>> Open(const RedisEndpoint& endpoint,
                                                       BootTime until,
                                                       const RedisJudge& judge = {});

  // False: the server has hung up, or said something that nobody asked for.
  bool Fresh();
  Result<std::vector<RedisReply>> Run(std::span<const RedisCommand> commands, BootTime until);

  Status Send(std::span<const RedisCommand> commands, BootTime until);
  // The next answer. None: nothing came by then, and the connection is as good as before.
  Result<std::optional<RedisReply>> Next(BootTime until);
  // Ends the calls that another thread is in.
  void Hang();
  // To be closed without a trace: what the system has not sent yet is not sent later.
  void Abandon();

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using ContextPtr = std::unique_ptr<redisContext, Free>;

  RedisConnection(ContextPtr context, std::unique_ptr<RedisWire> wire)
      : context_(std::move(context)), wire_(std::move(wire)) {}
  // To one host of the endpoint, or to the master that its sentinels name; by TLS if it says so.
  static Result<std::unique_ptr<RedisConnection>> Connect(const RedisEndpoint& endpoint,
                                                          const RedisHost& host, BootTime until);
  static Result<std::unique_ptr<RedisConnection>> Connected(ContextPtr context,
                                                            const RedisEndpoint& endpoint,
                                                            const RedisHost& host, BootTime until);
  static Result<RedisHost> QuerySentinels(const RedisEndpoint& endpoint, BootTime until);
  Status LogIn(const RedisEndpoint& endpoint, BootTime until, const RedisJudge& judge);

  const ContextPtr context_;
  const std::unique_ptr<RedisWire> wire_;
};

}  // namespace oncemq
