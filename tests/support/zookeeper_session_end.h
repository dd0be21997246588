// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace oncemq::testing {

// Ends a session of the ZooKeeper on this port of 127.0.0.1, as if its time were over: whoever has
// it hears of that. True when the server says so, or knows of no such session. A client that
// connects again meanwhile may take it back, or be left without answers until it has waited enough.
//
// Thread safety: any thread. Blocks, bounded.
bool EndZooKeeperSession(uint16_t port, uint64_t id,
                         std::chrono::seconds patience = std::chrono::seconds(2));

}  // namespace oncemq::testing
