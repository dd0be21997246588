// SPDX-License-Identifier: Apache-2.0
// RedisWire: how bytes go over a connection of hiredis, which is plainly or through TLS.
//
// Promise of TLS: no byte of a caller is sent before the server has shown a certificate that a
// known authority gave for the very name or address that we asked for. Nothing switches that off,
// and nothing makes a plain connection of it.
//
// Thread safety: one thread at a time.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_endpoint.h"

namespace oncemq {

// Lives no longer than its connection.
class RedisWire {
 public:
  struct Sent {
    size_t bytes = 0;
    short wait = 0;  // no byte was taken: not before poll() says so
  };

  virtual ~RedisWire() = default;
  // Never blocks, and raises no signal. Failure: of these bytes the server gets none, or none that
  // it can read.
  virtual Result<Sent> Send(std::string_view bytes) = 0;
  // As redisBufferRead(), behind a poll().
  virtual Status Read() = 0;
  // Something was read from the socket that Read() has not given yet.
  virtual bool Pending() const = 0;
  // False: the server has hung up, or said something that nobody asked for.
  virtual bool Fresh() = 0;
};

std::unique_ptr<RedisWire> PlainRedisWire(redisContext& connection);

// The handshake, which ends by `until` whatever the server does. Files are read each time, so they
// may be renewed. `host`: who must be there, unless the endpoint names another.
// Failures, with effect kNone: kInvalid for what is not built, files that are of no use and a
// server that is not to be trusted; kTimeout; kUnavailable.
Result<std::unique_ptr<RedisWire>> TlsRedisWire(redisContext& connection,
                                                const RedisEndpoint& endpoint,
                                                const std::string& host, BootTime until);

}  // namespace oncemq
