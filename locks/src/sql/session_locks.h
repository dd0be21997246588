// SPDX-License-Identifier: Apache-2.0
// SessionLocks: each hold is a lock of a database session, and so a connection. The database knows
// a number in place of the name, and neither lease, fence nor queue: it frees what it holds when
// the connection ends, which it may learn late, or for a reason that the holder does not know yet.
//
// L1  A hold that nobody extends in time ends here: its lock is given back.
// L2  A connection that is in doubt is hung up, and its hold is gone.
// L3  A connection that the database ended says so, and is looked at again and again.
// L4  A call about many holds lasts as long as one about one: once the database has left a question
//     without an answer, no other connection of that call is asked.
#pragma once

#include <memory>
#include <string>

#include "oncemq/clients/sql_client.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct SessionLockWords {
  // Each has the key of the name as its one value, and answers one number: 1 for yes.
  std::string_view take;
  std::string_view held;
  std::string_view free;
  bool word = false;  // the key is a word, of at most 64 letters; else a number
};

struct SessionLockLimits {
  std::string space;
  milliseconds call{2'000};
  size_t max_holds = 16;
};

Result<std::shared_ptr<LockEngine>> MakeSessionLocks(std::unique_ptr<SqlClient> client,
                                                     const LockCapabilities& can,
                                                     const SessionLockWords& words,
                                                     const SessionLockLimits& limits);

}  // namespace oncemq
