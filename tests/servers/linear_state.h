// SPDX-License-Identifier: Apache-2.0
// What the model of linear_locks.h knows at a moment, and its key for the memory of the search.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

inline constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::min();

struct LinearHold {
  size_t owner;
  LockMode mode;
  Fence fence;
  int64_t ends;  // not before
};

struct LinearState {
  std::vector<LinearHold> holds;
  std::array<Fence, 3> last;  // of the grants of each mode
  int64_t now = kAnyTime;
};

// `done` says nothing of those from `top` on.
inline std::string KeyOf(const LinearState& state, size_t first, size_t top,
                         const std::vector<bool>& done) {
  std::string key;
  const auto add = [&key](uint64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add(first);
  for (size_t i = first; i < top; i++) {
    key.push_back(done[i] ? '1' : '0');
  }
  key.push_back('|');
  for (const Fence& fence : state.last) {
    add(fence.epoch);
    add(fence.token);
  }
  for (const LinearHold& hold : state.holds) {
    add(hold.owner);
    add(hold.fence.epoch);
    add(hold.fence.token);
    add(static_cast<uint64_t>(hold.ends));
  }
  return key;
}

}  // namespace oncemq::testing
