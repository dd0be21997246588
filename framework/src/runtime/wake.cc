// SPDX-License-Identifier: Apache-2.0
#include "wake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace oncemq {

Result<std::unique_ptr<Wake>> Wake::Open() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return Error{Code::kUnavailable, Effect::kNone,
                 std::string("no event descriptor: ") + std::strerror(errno)};
  }
  return std::unique_ptr<Wake>(new Wake(fd));
}

Wake::~Wake() {
  close(fd_);
}

void Wake::Notify() {
  if (!rung_.exchange(true)) {
    const uint64_t one = 1;
    // A full counter has rung already.
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
  }
}

void Wake::Wait(milliseconds most) {
  pollfd waited{fd_, POLLIN, 0};
  poll(&waited, 1, static_cast<int>(most.count()));
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = read(fd_, &count, sizeof count);
  // After the read: who rings in between is not written down, but the caller looks at everything
  // after this.
  rung_.store(false);
}

}  // namespace oncemq
