// SPDX-License-Identifier: Apache-2.0
// MemcachedClient: commands to one memcached (1.6 or newer), from any thread, in its text protocol.
//
// Promise: every call ends by its deadline, but for looking up the name of a host. An Error says
// whether a command may have been done: kNone if it was not sent or was refused, kUnknown if its
// answer did not come. A connection that is in doubt is never used again, so no answer is taken for
// that of another command.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/memcached_endpoint.h"

namespace oncemq {

// A key of printable bytes, short enough, for a name of any bytes: the prefix and a digest
// (SHA-256) of the name. Whoever keeps the name beside the value can tell two with the same digest.
std::string MemcachedKey(std::string_view prefix, std::string_view name);

// Longer than that means a date to the server.
inline constexpr std::chrono::seconds kMemcachedLongest = std::chrono::hours(24 * 30);

struct MemcachedCommand {
  enum class Kind : unsigned char {
    kGet,
    kAdd,   // if nothing is there
    kSwap,  // if what is there has this version still
    kDrop,  // likewise; needs no room
  };
  Kind kind = Kind::kGet;
  std::string_view key;
  std::string_view value;
  // How long it is kept: up to one second less, as the server's clock has whole ones.
  std::chrono::seconds kept{0};
  uint64_t version = 0;
};

struct MemcachedReply {
  enum class Kind : unsigned char {
    kFound,    // by kGet: value, version and what is left of its time
    kMissing,  // nothing is there
    kDone,     // stored, or dropped
    kRefused,  // by kAdd: something is there; else: it is another version
  };
  Kind kind = Kind::kMissing;
  std::string value;
  std::chrono::seconds left{0};
  uint64_t version = 0;
};

struct MemcachedTimes {
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one round trip, waiting for a connection included
};

// Thread safety: any thread.
class MemcachedClient {
 public:
  // Connects once, so that a wrong endpoint shows at the start.
  static Result<std::unique_ptr<MemcachedClient>> Open(const MemcachedEndpoint& endpoint,
                                                       const MemcachedTimes& times = {},
                                                       size_t max_connections = 16);
  ~MemcachedClient();
  MemcachedClient(const MemcachedClient&) = delete;
  MemcachedClient& operator=(const MemcachedClient&) = delete;

  // All in one round trip; answers in the same order. A server without room for one of them is an
  // Error for all, kNone only if the others are looks. It ends after `within`, or after the time of
  // a call if that is shorter.
  Result<std::vector<MemcachedReply>> Run(std::span<const MemcachedCommand> commands,
                                          milliseconds within = milliseconds::max());
  Result<MemcachedReply> Run(const MemcachedCommand& command);

  // "1.6.18", and what `stats settings` says.
  Result<std::string> Version();
  Result<std::map<std::string, std::string>> Settings();

 private:
  struct Parts;
  explicit MemcachedClient(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
