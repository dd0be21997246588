// SPDX-License-Identifier: Apache-2.0
// WindowSizes: the size of a window on this host, for scrapes.
//
//   WindowSizes sizes(*window);
//   const std::optional<WindowSize> size = sizes.Look(milliseconds(200));
//
// **Promise:** Look() lasts no longer than it is told. A thread of its own asks the window, so a
// hanging disk delays only this thread.
//
// **Thread safety:** Look() from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/run_metrics.h"

namespace oncemq {

class WindowSizes {
 public:
  // `window` is borrowed. One in a server is never asked: it would count a table.
  explicit WindowSizes(Window& window);
  ~WindowSizes();

  // The size as of now, or else of the last look that has ended. Nothing, if none has.
  std::optional<WindowSize> Look(milliseconds within);

 private:
  void Run();

  Window& window_;
  Mutex mutex_;
  ConditionVariable changed_;
  uint64_t wanted_ GUARDED_BY(mutex_) = 0;  // looks, by number
  uint64_t done_ GUARDED_BY(mutex_) = 0;
  bool ends_ GUARDED_BY(mutex_) = false;
  std::optional<WindowSize> size_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace oncemq
