// SPDX-License-Identifier: Apache-2.0
#include "relay_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace oncemq::testing {

void RelayEnds::Close() const {
  close(client);
  close(server);
}

RelayListener::RelayListener() {
  if (listen(port_.fd(), 64) != 0) {
    throw std::runtime_error("the relay cannot listen");
  }
}

std::optional<RelayEnds> RelayListener::Accept(uint16_t to) const {
  const RelayEnds ends{accept4(port_.fd(), nullptr, nullptr, SOCK_CLOEXEC),
                       socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(to);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (ends.client < 0 ||
      connect(ends.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ends.Close();
    return std::nullopt;
  }
  const int yes = 1;
  setsockopt(ends.client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(ends.server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return ends;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace oncemq::testing
