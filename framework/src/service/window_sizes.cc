// SPDX-License-Identifier: Apache-2.0
#include "window_sizes.h"

#include "oncemq/dedup/store_stat.h"

namespace oncemq {
namespace {

std::optional<WindowSize> SizeOf(Window& window) {
  const auto stats = window.Stat();
  if (!stats || stats->empty()) {
    return std::nullopt;
  }
  WindowSize size;
  for (const StoreStat& one : *stats) {
    size.ids += one.recent + one.history;
    size.memory_bytes += one.memory_bytes;
    size.disk_bytes += one.disk_bytes;
  }
  return size;
}

}  // namespace

WindowSizes::WindowSizes(Window& window) : window_(window) {
  if (!window.capabilities().remote) {
    thread_ = std::jthread([this] { Run(); });
  }
}

WindowSizes::~WindowSizes() {
  MutexLock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

std::optional<WindowSize> WindowSizes::Look(milliseconds within) {
  const BootTime until = BootNow() + within;
  MutexLock lock(mutex_);
  const uint64_t mine = ++wanted_;
  changed_.notify_all();
  while (thread_.joinable() && done_ < mine) {
    const BootTime now = BootNow();
    if (now >= until) {
      break;
    }
    changed_.wait_for(mutex_, until - now);
  }
  return size_;
}

void WindowSizes::Run() {
  uint64_t looks = 0;
  std::optional<WindowSize> size;
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (looks > 0) {
        size_ = size;
        done_ = looks;
        changed_.notify_all();
      }
      while (!ends_ && done_ == wanted_) {
        changed_.wait(mutex_);
      }
      if (ends_) {
        return;
      }
      looks = wanted_;
    }
    size = SizeOf(window_);
  }
}

}  // namespace oncemq
