// SPDX-License-Identifier: Apache-2.0
// NoPipeSignal: while it lives, writing to a connection that is gone fails, and does not end the
// process. For libraries that write by themselves.
//
// Thread safety: it is the affair of the thread that has it.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace oncemq {

class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    waited_before_ = IsWaiting();
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const int kept = errno;
    const timespec at_once{};
    // Ours is taken away. One that was there before is somebody else's.
    while (!waited_before_ && IsWaiting() && sigtimedwait(&pipe_, nullptr, &at_once) < 0 &&
           errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept;
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  static bool IsWaiting() {
    sigset_t waiting;
    sigpending(&waiting);
    return sigismember(&waiting, SIGPIPE) == 1;
  }

  sigset_t pipe_{};
  sigset_t before_{};
  bool waited_before_ = false;
};

}  // namespace oncemq
