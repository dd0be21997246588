// SPDX-License-Identifier: Apache-2.0
// Locks under a switchboard under the conformance suite: over the store in force, and in the middle
// of a planned switch, in which each ask takes both.
#include <gtest/gtest.h>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/memory_locks.h"
#include "oncemq/locks/switched_locks.h"
#include "support/switch_store.h"

namespace oncemq {
namespace {

std::vector<NamedLocks> Stores() {
  std::vector<NamedLocks> stores;
  for (const char* name : {"a", "b"}) {
    stores.push_back({name, MemoryLockCapabilities(), [locks = MakeMemoryLocks()] {
                        return Result<std::shared_ptr<LockEngine>>(locks);
                      }});
  }
  return stores;
}

// Nobody turns the pages here: the record is good, and a switch under way, for a day.
Result<std::shared_ptr<LockEngine>> Open(SwitchMode mode) {
  SwitchboardOptions options;
  options.config_lease = options.longest = kLongestLease;
  options.automatic = false;
  const auto record =
      std::make_shared<testing::SwitchStoreView>(std::make_shared<testing::SharedSwitchStore>());
  const auto locks = SwitchedLocks::Open(Stores(), record, options);
  if (!locks) {
    return locks.error();
  }
  if (mode == SwitchMode::kBoth) {
    if (const auto begun = (*locks)->SwitchToNext("", UnlessPlanned::kRefuse); !begun) {
      return begun.error();
    }
  }
  return std::shared_ptr<LockEngine>(*locks);
}

bool Register(const std::string& name, SwitchMode mode) {
  return RegisterLockConformance({
      .name = name,
      .capabilities = *SwitchedCapabilities(Stores()),
      .open = [mode] { return Open(mode); },
      .pass = [](milliseconds by) { SleepFor(by); },
      .lease = milliseconds(300),
  });
}

[[maybe_unused]] const bool kInForce = Register("switched_locks", SwitchMode::kSingle);
[[maybe_unused]] const bool kBetween = Register("switched_locks_between", SwitchMode::kBoth);

}  // namespace
}  // namespace oncemq
