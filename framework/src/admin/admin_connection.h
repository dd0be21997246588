// SPDX-License-Identifier: Apache-2.0
// AdminConnection: one client, one request, one answer. Never blocks.
//
// Promise: holds at most one request and one answer. Whatever the client sends or leaves out, it is
// over by its deadline, which the server keeps.
//
// Thread safety: none; the server's thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "admin_commands.h"
#include "frame.h"
#include "oncemq/base/clock.h"
#include "owned_fd.h"

namespace oncemq {

class AdminConnection {
 public:
  AdminConnection(OwnedFd fd, const AdminPeer& peer, BootTime deadline)
      : fd_(std::move(fd)), peer_(peer), deadline_(deadline) {}

  int fd() const { return fd_.get(); }
  // What to wait for: POLLIN or POLLOUT.
  short wants() const;
  BootTime deadline() const { return deadline_; }
  bool over() const { return over_; }

  // When what it wants is there. A command's own time is not the client's: the answer gets
  // `patience` of its own.
  void Go(AdminCommands& commands, const Clock& clock, milliseconds patience);
  // Instead of a conversation.
  void Refuse(std::string_view why);

 private:
  void Read(AdminCommands& commands, const Clock& clock, milliseconds patience);
  void Say(std::string_view answer);
  void Write();

  OwnedFd fd_;
  AdminPeer peer_;
  BootTime deadline_;
  FrameReader request_{kMostRequest};
  std::string answer_;  // framed; empty: the request is not there yet
  size_t written_ = 0;
  bool over_ = false;
};

}  // namespace oncemq
