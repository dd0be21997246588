// SPDX-License-Identifier: Apache-2.0
// What a memcached must be like to keep locks.
#pragma once

#include <string>

#include "oncemq/clients/memcached_client.h"

namespace oncemq {

// kInvalid: the engine memcached `what`.
Error MemcachedCannot(const std::string& what);

// Failure: kInvalid for one that may evict what is held, unless that is allowed, that is too old,
// or has no versions.
Status CheckMemcachedForLocks(MemcachedClient& client, bool may_evict);

}  // namespace oncemq
