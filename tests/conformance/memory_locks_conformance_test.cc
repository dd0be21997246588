// SPDX-License-Identifier: Apache-2.0
// The memory locks under the conformance suite. Domains wait on real clocks, so the store has one
// too, and time passes by waiting; tests/unit/locks has the same rules on a clock that is moved.
#include <gtest/gtest.h>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/memory_locks.h"

namespace oncemq {
namespace {

[[maybe_unused]] const bool kRegistered = RegisterLockConformance({
    .name = "memory_locks",
    .capabilities = MakeMemoryLocks()->capabilities(),
    .open = [] { return Result<std::shared_ptr<LockEngine>>(MakeMemoryLocks()); },
    .pass = [](milliseconds by) { SleepFor(by); },
    .lease = milliseconds(300),
    .giving_up_rounds = 10'000,
});

}  // namespace
}  // namespace oncemq
