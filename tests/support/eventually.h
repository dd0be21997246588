// SPDX-License-Identifier: Apache-2.0
// Waits for a server outside this process, which can't be told to call back.
#pragma once

#include <chrono>
#include <functional>

namespace oncemq::testing {

// Asks `condition` until it holds or `timeout` is over; true when it held. It is asked at least
// once, and at least once after the time is over, so a starved machine gets its last chance. With a
// mutant chosen long times are a third, and 10 s at least.
// Never for our own threads: those are joined or signalled.
//
// Thread safety: any thread.
bool Eventually(std::chrono::milliseconds timeout, const std::function<bool()>& condition);

}  // namespace oncemq::testing
