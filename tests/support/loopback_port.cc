// SPDX-License-Identifier: Apache-2.0
#include "loopback_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace oncemq::testing {

LoopbackPort::LoopbackPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int on = 1;
  // The option comes after bind: asked for a free port with it set, the kernel may hand out one
  // that another reservation holds.
  if (fd_ < 0 || bind(fd_, generic, size) != 0 || getsockname(fd_, generic, &size) != 0 ||
      setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    const std::string why = std::strerror(errno);
    if (fd_ >= 0) {
      close(fd_);
    }
    throw std::runtime_error("no free port on 127.0.0.1: " + why);
  }
  number_ = ntohs(address.sin_port);
}

LoopbackPort::~LoopbackPort() {
  close(fd_);
}

std::string LoopbackPort::address() const {
  return "127.0.0.1:" + std::to_string(number_);
}

}  // namespace oncemq::testing
