// SPDX-License-Identifier: Apache-2.0
// The rows that the simulated handler keeps at the level atomic: how often each id took effect, the
// balances that its transfer changes, and how many ids of a key there were.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "config.h"
#include "log.h"

namespace oncemq::sim {

struct Transfer {
  uint32_t from;
  uint32_t to;
  int64_t amount;
};

inline constexpr uint32_t kAccounts = 5;

inline Transfer TransferOf(uint32_t id) {
  return {id % kAccounts, (id + 1 + id / kAccounts % (kAccounts - 1)) % kAccounts, id + 1};
}
inline std::string EffectRow(uint32_t id) {
  return "effect/" + std::to_string(id);
}
inline std::string AccountRow(uint32_t account) {
  return "account/" + std::to_string(account);
}
inline std::string KeyRow(int32_t key) {
  return "key/" + std::to_string(key);
}
// A row that is read and written needs messages of its key to wait for each other.
inline bool CountsKey(const Config& config, int32_t key) {
  return key != kNoKey && OrderOf(config) != Order::kUnordered && config.rekeyed == 0;
}

}  // namespace oncemq::sim
