// SPDX-License-Identifier: Apache-2.0
#include "no_pipe_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace oncemq {
namespace {

// A pipe that nobody reads from.
int WriteToNobody() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  const int written = write(ends[1], "x", 1) < 0 ? errno : 0;
  close(ends[1]);
  return written;
}

bool IsBlocked() {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, SIGPIPE) == 1;
}

bool IsWaiting() {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGPIPE) == 1;
}

TEST(NoPipeSignal, AWriteToNobodyFailsAndEndsNothing) {
  for (int round = 0; round < 2; round++) {
    {
      const NoPipeSignal quiet;
      EXPECT_EQ(WriteToNobody(), EPIPE);
    }
    EXPECT_FALSE(IsWaiting());
    EXPECT_FALSE(IsBlocked());
  }
}

TEST(NoPipeSignal, WhatItFoundItLeaves) {
  errno = ENOENT;
  sigset_t pipe_only;
  sigset_t before;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  raise(SIGPIPE);
  { const NoPipeSignal quiet; }
  EXPECT_TRUE(IsWaiting());
  EXPECT_TRUE(IsBlocked());
  EXPECT_EQ(errno, ENOENT);
  int taken = 0;
  sigwait(&pipe_only, &taken);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace oncemq
