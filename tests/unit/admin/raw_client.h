// SPDX-License-Identifier: Apache-2.0
// A client of the admin socket that knows no manners.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <string>

#include "frame.h"
#include "unix_socket.h"

namespace oncemq::testing {

class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};  // a test that waits longer has failed
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    failed_ = ConnectUnix(fd_, path);
    EXPECT_EQ(failed_, 0) << std::strerror(failed_);
  }

  // Whatever the server still takes.
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void SendFrame(std::string_view body) { Send(Framed(body)); }
  void SayNoMore() { shutdown(fd_.get(), SHUT_WR); }

  // Whether the server has closed; reads nothing.
  bool LetGo() {
    pollfd asked{fd_.get(), 0, 0};
    return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR)) != 0;
  }

  // All bytes until the server closes.
  std::string ReadToTheEnd() {
    std::string out;
    char bytes[65536];
    for (;;) {
      const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) {
        EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "the server does not let go";
        return out;
      }
      out.append(bytes, static_cast<size_t>(got));
    }
  }
  // What the one frame in these bytes says; null when there is none.
  nlohmann::json Answer() {
    FrameReader reader(kMostAnswer);
    const auto state = reader.Take(ReadToTheEnd());
    return state == FrameReader::State::kComplete ? nlohmann::json::parse(reader.body())
                                                  : nlohmann::json();
  }
  std::string Error() { return Answer().value("error", "(no error)"); }

 private:
  const OwnedFd fd_;
  int failed_ = 0;
};

}  // namespace oncemq::testing
