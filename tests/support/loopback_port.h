// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace oncemq::testing {

// A TCP port of 127.0.0.1 that stays ours while the object lives, also while our server is down.
//
// The port is bound, but not listened on, with SO_REUSEADDR: a server that sets the same option
// (the JVM, Redis and nearly all others do) may bind it too; no other program is given it by
// the kernel. So a server that was killed finds its port free when it comes back.
// Throws std::runtime_error when the kernel has no port left.
//
// Thread safety: none needed, it is constant after construction.
class LoopbackPort {
 public:
  LoopbackPort();
  ~LoopbackPort();
  LoopbackPort(const LoopbackPort&) = delete;
  LoopbackPort& operator=(const LoopbackPort&) = delete;

  // Its socket, for a listener of our own.
  int fd() const { return fd_; }
  uint16_t number() const { return number_; }
  // "127.0.0.1:40123"
  std::string address() const;

 private:
  int fd_ = -1;
  uint16_t number_ = 0;
};

}  // namespace oncemq::testing
