// SPDX-License-Identifier: Apache-2.0
// Wake: what the poll thread sleeps on. A file descriptor, so that librdkafka's queues can ring it
// as our workers do.
//
// Promise: a Notify() that comes after the last Wait() began is never slept through. While nobody
// waits, it costs one atomic exchange and no system call.
//
// Thread safety: Notify from any thread; Wait from one at a time.
#pragma once

#include <atomic>
#include <memory>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

class Wake {
 public:
  static Result<std::unique_ptr<Wake>> Open();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  // For others who ring by writing eight bytes, a non-zero number, and never read.
  int fd() const { return fd_; }
  void Notify();
  // Returns when somebody has rung, or after `most`.
  void Wait(milliseconds most);

 private:
  explicit Wake(int fd) : fd_(fd) {}

  const int fd_;
  std::atomic<bool> rung_{false};
};

}  // namespace oncemq
