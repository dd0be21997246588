// SPDX-License-Identifier: Apache-2.0
// What the suites over the locks of real stores have in common: one server for all tests of a
// program, a space of its own for each, time that really passes, and calls that may take long.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "suite_server.h"

namespace oncemq::testing {

template <class Options>
Options SuiteOptions() {
  static std::atomic<int> spaces{0};
  Options options;
  options.space = "test/" + std::to_string(++spaces);
  options.connect = options.call = milliseconds(10'000);
  return options;
}

// Without a server no test is registered: the program's AServerIsThere says so.
template <class Server>
bool RegisterStoreLocks(LockEngineCase engine) {
  engine.pass = [](milliseconds by) { SleepFor(by); };
  return !Server::Missing() && RegisterLockConformance(engine);
}

}  // namespace oncemq::testing
