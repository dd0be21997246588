// SPDX-License-Identifier: Apache-2.0
// The conformance suite of lock engines: what every engine must do, as tests that anybody can run
// on an engine of their own. An engine is done when it passes.
//
//   // my_locks_test.cc; link oncemq::lock_conformance and GoogleTest with a main
//   const bool registered = oncemq::RegisterLockConformance({
//       .name = "mine",
//       .capabilities = MyLocks::kCapabilities,
//       .open = [] { return OpenMyLocks(FreshPrefix()); },
//       .pass = [](oncemq::milliseconds by) { oncemq::SleepFor(by); },
//   });
//
// The capabilities are the suite's input: only tests that apply to them are registered, so none is
// ever skipped, and an engine that claims less is asked less. Tests are called
// mine/LockConformance.<sentence>.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct LockEngineCase {
  // Names the tests: letters, digits and underscores.
  std::string name;
  // What the engine claims. A test compares it with what the engine says.
  LockCapabilities capabilities;
  // Opens an engine over a store in which no name is held.
  std::function<Result<std::shared_ptr<LockEngine>>()> open;
  // Lets so much time pass for the store: moves its clock, or waits.
  std::function<void(milliseconds)> pass;
  // The lease with which tests let holds and places end; four calls should take less. Where the
  // machine stands still they take longer ones.
  milliseconds lease{1'000};
  // How often an attempt is given up around its grant. ONCEMQ_GIVING_UP_ROUNDS in the environment
  // says it for all engines.
  int giving_up_rounds = 300;
};

// Registers the tests that apply. Call it while static objects are initialised, or before
// RUN_ALL_TESTS(). Returns true, for a constant to be initialised with.
bool RegisterLockConformance(const LockEngineCase& engine);

}  // namespace oncemq
