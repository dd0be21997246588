// SPDX-License-Identifier: Apache-2.0
// The museum: locks of the literature that are known to be wrong, as they are written again and
// again. The checker has to convict each of them; docs/locks.md tells their stories. But for
// client-clocks each has the flaw that it is named after and no other one: what it does besides is
// by the book.
//
//   read-then-write-row  in PostgreSQL: looks whether somebody has it, then writes its row; two
//                        look before one writes
//   blind-delete         in memcached: taken by `add`, given back by `delete`: whoever was late
//                        deletes the next one's
//   client-clocks        in Redis, as the next three: SETNX and GETSET as they are written down:
//                        the value is when it ends, judged by whoever looks, on its own clock;
//                        freed by DEL if it has not ended by that clock
//   swap-of-the-seen     the same with that one flaw alone: an owner in the value, a swap of what
//                        was seen; with clocks that agree nothing is wrong with it
//   readers-judge        the same, and whoever finds it ended writes over it; right clocks do not
//                        help
//   no-fence             by the book: one step that takes it, a token, scripts; right on one
//                        server. A failover loses it, and nothing tells the one that held from the
//                        one that holds
//   all-woken            in ZooKeeper: who waits watches all who want it, so that each release
//                        wakes all of them
//
// And two of the flawed ones as they should be: one-step-row, add-and-own-delete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

// The engine, as StormEngines() calls it, over whose server it is opened.
std::string_view HomeOf(std::string_view exhibit);

// `clock_error`: by how much this process's wall clock is wrong.
Result<std::shared_ptr<LockEngine>> OpenExhibit(std::string_view name, std::string_view at,
                                                milliseconds clock_error);

}  // namespace oncemq::testing
