// SPDX-License-Identifier: Apache-2.0
// What the answers of all masters mean together. Without clock or I/O.
#pragma once

#include <optional>

#include "redlock_round.h"

namespace oncemq {

// The reply to the list of this number; nullptr: none, or an error instead.
const RedisReply* RedlockReply(const std::optional<RedlockAnswer>& answer, size_t list);
// Whether a master may have done what it was asked, as far as is known.
bool RedlockMayHaveDone(const std::optional<RedlockAnswer>& answer);

// How the masters voted on one list, where 0 is no and all else yes.
struct RedlockVotes {
  size_t yes = 0;
  size_t no = 0;
  size_t away = 0;     // they failed
  size_t pending = 0;  // they have not answered yet
  size_t answered() const { return yes + no; }
};
RedlockVotes CountRedlock(const RedlockAnswers& answers, size_t list);
// Whether more answers would change nothing for any of so many lists.
bool RedlockDecided(const RedlockAnswers& answers, size_t lists, size_t majority);

// How they answered a request.
struct RedlockSaid {
  size_t granted = 0;
  size_t busy = 0;
  size_t sealed = 0;
  size_t pending = 0;
  uint32_t epoch = 0;  // the greatest of those that are sealed with another one

  size_t answered() const { return granted + busy + sealed; }
  bool Decided(size_t majority) const;
};
RedlockSaid RedlockTally(const RedlockAnswers& answers);

}  // namespace oncemq
