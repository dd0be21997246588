// SPDX-License-Identifier: Apache-2.0
// RedisClient: commands to one Redis, from any thread; and RedisListener, which hears what is
// published there.
//
// Promise: every call ends by its deadline, but for looking up the name of a host. An Error says
// whether a command may have been done: kNone if it was not sent or was refused, kUnknown if its
// answer did not come. A connection that is in doubt is never used again. With sentinels each new
// connection asks them who is master, and a server that is none is refused, so a client follows a
// failover by itself.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_endpoint.h"

namespace oncemq {

// An answer of the server.
struct RedisReply {
  enum class Kind : unsigned char { kNil, kInteger, kText, kStatus, kError, kList };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // also of a status or an error
  std::vector<RedisReply> list;
};

using RedisCommand = std::vector<std::string_view>;

// By its INFO, whether the server of a new connection is fit. An Error refuses the connection.
using RedisJudge = std::function<Status(std::string_view info)>;

struct RedisTimes {
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one round trip, waiting for a connection included
};

// A script, loaded into the server when it does not know it.
//
// Thread safety: any thread.
class RedisScript {
 public:
  explicit RedisScript(std::string_view source);
  ~RedisScript();
  std::string_view source() const { return source_; }
  const std::string& sha1() const { return sha1_; }

 private:
  const std::string source_;
  const std::string sha1_;
};

// Thread safety: any thread.
class RedisClient {
 public:
  // Connects once, so that a wrong endpoint or password shows at the start. A login that the server
  // refuses is kRefused, and is backed off from (store_login.h). `judge` is asked about
  // each connection, on any thread, before a call uses it: after a failover the server is another.
  static Result<std::unique_ptr<RedisClient>> Open(const RedisEndpoint& endpoint,
                                                   const RedisTimes& times = {},
                                                   size_t max_connections = 16,
                                                   RedisJudge judge = {});
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // All in one round trip; answers in the same order. An answer of kind kError is an answer here.
  // It ends after `within`, or after the time of a call if that is shorter.
  Result<std::vector<RedisReply>> Run(std::span<const RedisCommand> commands,
                                      milliseconds within = milliseconds::max());
  // One; an answer of kind kError is an Error here.
  Result<RedisReply> Run(const RedisCommand& command);
  // One call of the script for each argument list, which is keys first, in one round trip. A server
  // that does not know the script needs another one. `within`: of each.
  Result<std::vector<RedisReply>> Call(const RedisScript& script, size_t keys,
                                       std::span<const RedisCommand> argument_lists,
                                       milliseconds within = milliseconds::max());
  const RedisEndpoint& endpoint() const;

 private:
  struct Parts;
  explicit RedisClient(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

// Hears what is published on one channel, on a thread of its own, and connects again as long as it
// lives. What is published while it is not connected, it does not hear.
//
// Thread safety: any thread.
class RedisListener {
 public:
  // `heard` is called with each message, `connected` each time it begins to hear; both on the
  // listener's thread, which they must not block. None if the system gives no thread.
  static std::unique_ptr<RedisListener> Start(const RedisEndpoint& endpoint,
                                              const RedisTimes& times, std::string channel,
                                              std::function<void(std::string_view)> heard,
                                              std::function<void(bool)> connected);
  // Ends its thread, in bounded time.
  ~RedisListener();
  RedisListener(const RedisListener&) = delete;
  RedisListener& operator=(const RedisListener&) = delete;

 private:
  struct Parts;
  explicit RedisListener(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

// Whether this build can reach a Redis by TLS. kInvalid, what is missing: an address that wants it
// is refused when it is opened.
Status RedisTlsIsBuilt();

// What an answer of kind kError is as an Error.
Error RedisError(std::string_view text);
// The server has forgotten a script, and wants its source.
bool RedisLacksScript(const RedisReply& reply);

// The value of a line "name:value" of the server's INFO.
std::string_view RedisInfo(std::string_view info, std::string_view name);
// By its INFO, the name and version of a server: "Redis 7.0.15", or "Valkey 8.0.1", which answers
// with a version of Redis, too.
std::string RedisServerOf(std::string_view info);
// By its INFO, whether a server may keep `contents` ("locks"). Failure: kInvalid, for a cluster, an
// old version, or a server that may evict keys.
Status CheckRedisKeeps(std::string_view info, std::string_view contents);

// For an answer that none of our commands and scripts has.
Error RedisStrange();

}  // namespace oncemq
