// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "redis_wire.h"

namespace oncemq {
namespace {

class Plain final : public RedisWire {
 public:
  explicit Plain(redisContext& connection) : connection_(connection) {}

  // Not hiredis' own: a connection that is gone would end the process by a signal.
  Result<Sent> Send(std::string_view bytes) override {
    const ssize_t some =
        send(connection_.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some >= 0) {
      return Sent{.bytes = static_cast<size_t>(some)};
    }
    if (errno == EAGAIN || errno == EINTR) {
      return Sent{.wait = POLLOUT};
    }
    return Error{Code::kUnavailable, Effect::kNone, std::strerror(errno)};
  }

  Status Read() override {
    if (redisBufferRead(&connection_) != REDIS_OK) {
      return Error{Code::kUnavailable, Effect::kUnknown, connection_.errstr};
    }
    return {};
  }

  bool Pending() const override { return false; }

  bool Fresh() override {
    pollfd waits{connection_.fd, POLLIN, 0};
    return poll(&waits, 1, 0) == 0;
  }

 private:
  redisContext& connection_;
};

}  // namespace

std::unique_ptr<RedisWire> PlainRedisWire(redisContext& connection) {
  return std::make_unique<Plain>(connection);
}

}  // namespace oncemq
