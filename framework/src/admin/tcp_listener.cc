// SPDX-License-Identifier: Apache-2.0
#include "tcp_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace oncemq {
namespace {

constexpr int kBacklog = 16;  // clients that the system keeps until they are accepted

}  // namespace

Result<OwnedFd> ListenTcp(const AdminAddress& address) {
  const std::string port = std::to_string(address.port);
  const auto failed = [&](Code code, const char* why) {
    return Error{code, Effect::kNone,
                 "cannot listen at " + address.host + ", port " + port + ": " + why};
  };
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int no = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found); no != 0) {
    return failed(Code::kInvalid, gai_strerror(no));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> at(found, freeaddrinfo);
  OwnedFd fd(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  // A restart takes the port of its former connections over. A live listener keeps it.
  if (fd && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      bind(fd.get(), at->ai_addr, at->ai_addrlen) == 0 && listen(fd.get(), kBacklog) == 0) {
    return fd;
  }
  return errno == EADDRINUSE ? failed(Code::kUnavailable, "another process has this port")
                             : failed(Code::kInvalid, std::strerror(errno));
}

uint16_t PortOf(const OwnedFd& listening) {
  sockaddr_in6 address{};  // the port stands at the same place in both families
  socklen_t size = sizeof address;
  const bool known =
      getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known ? ntohs(address.sin6_port) : 0;
}

}  // namespace oncemq
