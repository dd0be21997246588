// SPDX-License-Identifier: Apache-2.0
// SqlLocks: the rules of LockEntry over the rows of a SqlStore. A call reads the row and the
// server's clock, judges by that time, and swaps the row if it is still the one that was read.
//
// Judging by a time that is a little old when the swap is done takes nothing from anybody. The row
// was not touched in between, so nobody was granted or told anything by it. Whoever had ended then,
// has ended now; a grant or an extension ends a lease after the look, which is later than the
// sending of the call, from which its holder counts.
//
// A call that was overtaken locks the row from the look to the write (docs/adr/0025): a renewal or
// a release after one swap in vain, a request after two. So a client whose messages take long has
// its turn, and a hold is renewed while others ask for its name.
#pragma once

#include <memory>

#include "oncemq/locks/lock_engine.h"
#include "sql_store.h"

namespace oncemq {

struct SqlLockLimits {
  milliseconds call{2'000};    // how long a call tries
  size_t max_waiters = 1'000;  // for one name
  size_t max_connections = 16;
};

// The store's process hears of its waiters' turns, or looks for them, as `can` says.
std::shared_ptr<LockEngine> MakeSqlLocks(std::unique_ptr<SqlStore> store,
                                         const LockCapabilities& can, const SqlLockLimits& limits);

}  // namespace oncemq
