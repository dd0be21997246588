// SPDX-License-Identifier: Apache-2.0
// MemcachedPlace: where a memcached is.
//
//   memcached://host[:port]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

struct MemcachedPlace {
  std::string host;
  uint16_t port = 11211;
};

// Failures: kInvalid; also for several servers, for users and passwords, which it never repeats.
Result<MemcachedPlace> ParseMemcachedPlace(std::string_view url);
std::string ToString(const MemcachedPlace& place);

}  // namespace oncemq
