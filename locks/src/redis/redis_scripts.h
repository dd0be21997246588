// SPDX-License-Identifier: Apache-2.0
// What the server does in one step for each call of the engine: the rules of lock_entry.h, T1 to
// T5, in the server's language. docs/formats.md says what a key holds.
#pragma once

#include "oncemq/clients/redis_client.h"

namespace oncemq {

struct RedisLockScripts {
  // Arguments: token, "x" or "s", queue, barge ("1" or "0"), lease and place in microseconds, the
  // channel that wakes, who, most waiters, how long a key of one hold is kept in milliseconds.
  // Answers {kind, fence, again}; again in microseconds.
  RedisScript ask;
  // token, lease, how long it is kept. 0 gone, 1 extended, 2 extended and asked back.
  RedisScript extend;
  // token. 1 if it held.
  RedisScript free;
  // Nothing. How many holders.
  RedisScript ask_back;
  // fence. 1 if it held.
  RedisScript evict;
  // Nothing. For each holder, then for each waiter: {"h" or "w", mode, fence, left, who}.
  RedisScript look;

  RedisLockScripts();
};

// Kinds of answers to `ask`.
inline constexpr int64_t kRedisBusy = 0;
inline constexpr int64_t kRedisGranted = 1;
inline constexpr int64_t kRedisQueued = 2;
inline constexpr int64_t kRedisFull = 3;

}  // namespace oncemq
