// SPDX-License-Identifier: Apache-2.0
// The museum: locks of the literature that are known to be wrong, as they are written again and
// again. The checker has to convict each of them; docs/locks.md tells their stories. Each has the
// flaw that it is named after and no other one: what it does besides is by the book.
//
//   read-then-write   looks whether the key is there, then sets it: two look before one sets
//   blind-delete      released by DEL: whoever was late deletes the next one's
//   client-clocks     the value is when it ends, judged by whoever looks, on its own clock; with
//                     clocks that agree nothing is wrong with it
//   readers-judge     the same, and whoever finds it ended writes over it; right clocks do not help
//   no-fence          by the book: one step that takes it, a token, scripts; right on one server. A
//                     failover loses it, and nothing tells the one that held from the one that
//                     holds
//   all-woken         the same, and each release wakes all who wait
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

// `clock_error`: by how much this process's wall clock is wrong.
Result<std::shared_ptr<LockEngine>> OpenExhibit(std::string_view name, std::string_view redis,
                                                milliseconds clock_error);

}  // namespace oncemq::testing
