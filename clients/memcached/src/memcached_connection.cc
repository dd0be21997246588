// SPDX-License-Identifier: Apache-2.0
#include "memcached_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "oncemq/base/wait_ready.h"

namespace oncemq {
namespace {

constexpr size_t kLongestLine = 4'096;

Error Unavailable(Effect effect, const std::string& why) {
  return {Code::kUnavailable, effect, "memcached: " + why};
}

struct Free {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// The descriptor, or why not.
Result<int> ConnectTo(const addrinfo& address, BootTime until) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return Unavailable(Effect::kNone, std::strerror(errno));
  }
  int why = 0;
  if (connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    why = errno;
    if (why == EINPROGRESS) {
      socklen_t length = sizeof why;
      if (!WaitReady(fd, POLLOUT, until)) {
        why = ETIMEDOUT;
      } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &length) != 0) {
        why = errno;
      }
    }
  }
  if (why != 0) {
    close(fd);
    return Unavailable(Effect::kNone, std::strerror(why));
  }
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

}  // namespace

Result<std::unique_ptr<MemcachedConnection>> MemcachedConnection::Open(
    const MemcachedEndpoint& endpoint, BootTime until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int failed =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &raw);
  const std::unique_ptr<addrinfo, Free> list(raw);
  if (failed != 0) {
    return Unavailable(Effect::kNone, endpoint.host + ": " + gai_strerror(failed));
  }
  Error why = Unavailable(Effect::kNone, endpoint.host + " has no address");
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    const auto fd = ConnectTo(*one, until);
    if (fd) {
      return std::unique_ptr<MemcachedConnection>(new MemcachedConnection(*fd));
    }
    why = fd.error();
    why.message = ToString(endpoint) + ": " + why.message;
  }
  return why;
}

MemcachedConnection::~MemcachedConnection() {
  close(fd_);
}

bool MemcachedConnection::Fresh() const {
  pollfd waits{fd_, POLLIN, 0};
  return read_.empty() && poll(&waits, 1, 0) == 0;
}

Status MemcachedConnection::Send(std::string_view bytes, BootTime until) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t some = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    const Effect effect = sent == 0 ? Effect::kNone : Effect::kUnknown;
    if (some >= 0) {
      sent += static_cast<size_t>(some);
    } else if (errno != EAGAIN && errno != EINTR) {
      return Unavailable(effect, std::strerror(errno));
    } else if (!WaitReady(fd_, POLLOUT, until)) {
      return Error{Code::kTimeout, effect, "memcached takes nothing"};
    }
  }
  return {};
}

Status MemcachedConnection::Read(BootTime until) {
  // Also for a server that never stops talking.
  if (BootNow() >= until || !WaitReady(fd_, POLLIN, until)) {
    return Error{Code::kTimeout, Effect::kUnknown, "memcached did not answer in time"};
  }
  std::array<char, 16'384> bytes;
  const ssize_t length = recv(fd_, bytes.data(), bytes.size(), 0);
  if (length == 0) {
    return Unavailable(Effect::kUnknown, "the server closed the connection");
  }
  if (length < 0 && errno != EAGAIN && errno != EINTR) {
    return Unavailable(Effect::kUnknown, std::strerror(errno));
  }
  read_.append(bytes.data(), static_cast<size_t>(std::max<ssize_t>(0, length)));
  return {};
}

Result<std::string> MemcachedConnection::Line(BootTime until) {
  for (;;) {
    const size_t end = read_.find("\r\n");
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 2);
      return line;
    }
    if (read_.size() > kLongestLine) {
      return Error{Code::kCorrupt, Effect::kUnknown, "memcached: a line without an end"};
    }
    if (const Status done = Read(until); !done) {
      return done.error();
    }
  }
}

Result<std::string> MemcachedConnection::Block(size_t length, BootTime until) {
  while (read_.size() < length + 2) {
    if (const Status done = Read(until); !done) {
      return done.error();
    }
  }
  if (read_.compare(length, 2, "\r\n") != 0) {
    return Error{Code::kCorrupt, Effect::kUnknown, "memcached: a value of another length"};
  }
  std::string block = read_.substr(0, length);
  read_.erase(0, length + 2);
  return block;
}

void MemcachedConnection::Abandon() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace oncemq
