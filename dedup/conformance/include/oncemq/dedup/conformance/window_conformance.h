// SPDX-License-Identifier: Apache-2.0
// The conformance suite of windows: what every engine must do, as tests that anybody can run on an
// engine of their own. An engine is done when it passes.
//
//   // my_window_test.cc; link oncemq::window_conformance and GoogleTest with a main
//   const bool registered = oncemq::RegisterWindowConformance({
//       .name = "mine",
//       .capabilities = MyWindow::Capabilities(),
//       .open = [](const auto& setup) { return OpenMyWindow(setup.level, setup.times); },
//       .advance = [](oncemq::milliseconds by) { my_clock.Advance(by); },
//   });
//
// The capabilities are the suite's input: only tests that apply to them are registered, so none is
// ever skipped, and an engine that claims less is asked less. Tests are called
// mine_guarded/WindowConformance.<sentence>, and the same for each further level.
//
// The target adds its sources to the program that links it, so that they are built with that
// program's GoogleTest.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "oncemq/dedup/window.h"

namespace oncemq {

// What a test wants the window to be like.
struct ConformanceSetup {
  Level level = Level::kGuarded;
  WindowTimes times;
  // Of capabilities.ages: log time that a finished id is known for, without any margin.
  milliseconds remember{3'600'000};
};

struct WindowEngine {
  // Names the tests: letters, digits and underscores.
  std::string name;

  // What the engine claims. A test compares it with what its windows say.
  WindowCapabilities capabilities;

  // Opens an empty window that remembers at least 10,000 finished ids, and takes as many claims.
  // With capabilities.by_partition the suite opens the partitions that it uses, and so it does with
  // partition_owned and keeps_history.
  std::function<Result<std::unique_ptr<Window>>(const ConformanceSetup&)> open;

  // Opens the same store again after its window is gone: needed if capabilities.durable.
  std::function<Result<std::unique_ptr<Window>>(const ConformanceSetup&)> reopen;

  // Moves the clock that judges leases, or waits for so long: needed if
  // capabilities.leases_by_clock.
  std::function<void(milliseconds)> advance;

  // Time passes only by `advance`. If not, nothing is asked that a slow machine could spoil, and
  // waiting times are not compared to the microsecond.
  bool exact_clock = true;

  // Judge() answers. A test compares it with the windows.
  bool judges = false;
};

// Registers the tests that apply. Call it while static objects are initialised, or before
// RUN_ALL_TESTS(). Returns true, for a constant to be initialised with.
//
// Thread safety: one thread.
bool RegisterWindowConformance(const WindowEngine& engine);

}  // namespace oncemq
