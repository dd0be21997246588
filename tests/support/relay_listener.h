// SPDX-License-Identifier: Apache-2.0
// RelayListener: the way into a network of ours between clients and a server on loopback. It
// accepts a client and connects it to the server; its user carries the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "loopback_port.h"

namespace oncemq::testing {

// The two sockets of one relayed connection. They are open until Close().
struct RelayEnds {
  int client = -1;
  int server = -1;
  void Close() const;
};

// Throws std::runtime_error when it cannot listen.
//
// Thread safety: fd() and port() from any thread; Accept() from one at a time.
class RelayListener {
 public:
  RelayListener();

  // Readable: a client has come.
  int fd() const { return port_.fd(); }
  uint16_t port() const { return port_.number(); }
  // Nothing: the client has gone, or no server listens on the port `to`.
  std::optional<RelayEnds> Accept(uint16_t to) const;

 private:
  const LoopbackPort port_;
};

// False: the connection is over.
bool SendAll(int fd, std::string_view bytes);

}  // namespace oncemq::testing
