// SPDX-License-Identifier: Apache-2.0
// What both ends of a Unix domain socket need.
//
// Thread safety: any thread.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "owned_fd.h"

namespace oncemq {

// Not inherited, and by default it never blocks.
inline OwnedFd NewUnixSocket(int flags = SOCK_NONBLOCK) {
  return OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

// `path` is one that CheckAdminSocket takes.
inline sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// 0, or the error's number.
inline int ConnectUnix(const OwnedFd& fd, const std::string& path) {
  const sockaddr_un address = UnixAddress(path);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? 0
             : errno;
}

}  // namespace oncemq
