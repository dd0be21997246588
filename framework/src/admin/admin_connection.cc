// SPDX-License-Identifier: Apache-2.0
#include "admin_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace oncemq {

short AdminConnection::wants() const {
  return answer_.empty() ? POLLIN : POLLOUT;
}

void AdminConnection::Go(AdminCommands& commands, const Clock& clock, milliseconds patience) {
  if (answer_.empty()) {
    Read(commands, clock, patience);
  } else {
    Write();
  }
}

void AdminConnection::Read(AdminCommands& commands, const Clock& clock, milliseconds patience) {
  char bytes[4096];
  // A bounded number of times: others wait for their turn.
  for (size_t i = 0; i < 2 * kMostRequest / sizeof bytes; i++) {
    const ssize_t got = recv(fd(), bytes, sizeof bytes, 0);
    if (got < 0) {
      over_ = errno != EAGAIN && errno != EINTR;
      return;
    }
    if (got == 0) {  // whoever only looked whether somebody is here has said nothing
      Refuse("the request ends after " + std::to_string(request_.taken()) + " bytes");
      return;
    }
    switch (request_.Take(std::string_view(bytes, static_cast<size_t>(got)))) {
      case FrameReader::State::kPartial:
        break;
      case FrameReader::State::kTooLong:
        Refuse("a request of " + std::to_string(request_.announced()) + " bytes; at most " +
               std::to_string(kMostRequest) + " are taken");
        return;
      case FrameReader::State::kComplete:
        Say(commands.Answer(request_.body(), peer_));
        deadline_ = clock.Boot() + patience;
        return;
    }
  }
}

void AdminConnection::Refuse(std::string_view why) {
  Say(AdminRefusal(why));
}

void AdminConnection::Say(std::string_view answer) {
  answer_ = Framed(answer);
  Write();
}

void AdminConnection::Write() {
  while (written_ < answer_.size()) {
    const ssize_t sent =
        send(fd(), answer_.data() + written_, answer_.size() - written_, MSG_NOSIGNAL);
    if (sent < 0) {
      over_ = errno != EAGAIN && errno != EINTR;
      return;
    }
    written_ += static_cast<size_t>(sent);
  }
  over_ = true;
}

}  // namespace oncemq
