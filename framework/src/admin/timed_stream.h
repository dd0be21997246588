// SPDX-License-Identifier: Apache-2.0
// TimedStream: a socket for cpp-httplib, with one deadline for all reads and writes. Its own stream
// bounds each read, so a byte now and then keeps it for ever.
//
// **Thread safety:** none. The owner of the socket may shut it down on another thread.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>

#include "oncemq/base/clock.h"

namespace oncemq {

class TimedStream : public httplib::Stream {
 public:
  // The socket is borrowed.
  TimedStream(int fd, milliseconds within) : fd_(fd), until_(BootNow() + within) {}

  void Begin(milliseconds within) { until_ = BootNow() + within; }
  // The deadline has ended a read or write.
  bool late() const { return late_; }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  // 0 at the end, -1 after an error or at the deadline.
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  // cpp-httplib refuses a number that select() does not take, and we don't select().
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  bool Wait(short events);

  const int fd_;
  BootTime until_;
  bool late_ = false;
};

}  // namespace oncemq
