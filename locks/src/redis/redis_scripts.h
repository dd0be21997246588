// SPDX-License-Identifier: Apache-2.0
// The scripts that the server runs in one step, one for each call of the engine: the rules of
// lock_entry.h, T1 to T7, in the server's language. docs/formats.md describes the value of a key.
#pragma once

#include "oncemq/clients/redis_client.h"

namespace oncemq {

struct RedisLockScripts {
  // Keys: of the name, and of the seal. Arguments: token, "x", "s" or "c", queue, barge ("1" or
  // "0"), lease and place in microseconds, the channel that wakes, who, most waiters, how long a
  // key of one hold is kept in milliseconds, epoch, and the limit of a counted request. Answers
  // {kind, fence, again, epoch}; again in microseconds.
  RedisScript request;
  // token, lease, how long it is kept. 0 gone, 1 extended, 2 extended and asked back.
  RedisScript extend;
  // token. 1 if it held.
  RedisScript free;
  // Nothing. How many holders.
  RedisScript recall;
  // fence, its epoch. 1 if it held.
  RedisScript evict;
  // Nothing. For each holder, then for each waiter: {"h" or "w", mode, fence, left, who, epoch}.
  RedisScript look;
  // Nothing. For each holder: {token, left, who}.
  RedisScript tokens;
  // Key: of the seal. An epoch. Answers the one in force.
  RedisScript seal;

  RedisLockScripts();
};

// Kinds of answers to `ask`.
inline constexpr int64_t kRedisBusy = 0;
inline constexpr int64_t kRedisGranted = 1;
inline constexpr int64_t kRedisQueued = 2;
inline constexpr int64_t kRedisFull = 3;
inline constexpr int64_t kRedisSealed = 4;

}  // namespace oncemq
