// SPDX-License-Identifier: Apache-2.0
// MemcachedEndpoint: where a memcached is.
//
//   memcached://host[:port]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

struct MemcachedEndpoint {
  std::string host;
  uint16_t port = 11211;
};

// Failures: kInvalid; also for several servers, for users and passwords, which it never repeats.
Result<MemcachedEndpoint> ParseMemcachedEndpoint(std::string_view url);
std::string ToString(const MemcachedEndpoint& endpoint);

}  // namespace oncemq
