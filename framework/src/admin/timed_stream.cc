// SPDX-License-Identifier: Apache-2.0
#include "timed_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace oncemq {

bool TimedStream::Wait(short events) {
  const auto left = std::chrono::ceil<milliseconds>(until_ - BootNow());
  pollfd waited{fd_, events, 0};
  const int most = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
  late_ = most == 0 || poll(&waited, 1, most) == 0;
  return !late_;
}

ssize_t TimedStream::read(char* to, size_t size) {
  while (Wait(POLLIN)) {
    const ssize_t got = recv(fd_, to, size, MSG_DONTWAIT);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
      return got;
    }
  }
  return -1;
}

ssize_t TimedStream::write(const char* from, size_t size) {
  while (Wait(POLLOUT)) {
    const ssize_t sent = send(fd_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) {
      return sent;
    }
  }
  return -1;
}

}  // namespace oncemq
