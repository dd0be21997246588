// SPDX-License-Identifier: Apache-2.0
// A client of an HttpServer without manners.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <string>

#include "unix_socket.h"

namespace oncemq::testing {

class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    Wait();
    failed_ = ConnectUnix(fd_, path);
    EXPECT_EQ(failed_, 0) << std::strerror(failed_);
  }
  // On the loopback interface.
  explicit RawClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    Wait();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(connect(fd_.get(), to, sizeof address), 0) << std::strerror(errno);
  }

  static std::string Request(const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  // As far as the server takes it.
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void Get(const std::string& target) { Send(Request(target)); }
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
  // Body of the answer; null without one.
  nlohmann::json Answer() {
    const std::string all = ReadToTheEnd();
    const size_t end = all.find("\r\n\r\n");
    status_ = all.substr(0, all.find("\r\n"));
    return end == std::string::npos ? nlohmann::json()
                                    : nlohmann::json::parse(all.substr(end + 4), nullptr, false);
  }
  std::string Error() {
    const nlohmann::json answer = Answer();
    return answer.is_object() ? answer.value("error", "(no error)") : "(no answer)";
  }
  // First line of the answer that was read.
  const std::string& status() const { return status_; }

 private:
  void Wait() {
    const timeval patience{20, 0};  // a test that waits longer has failed
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  const OwnedFd fd_;
  int failed_ = 0;
  std::string status_;
};

}  // namespace oncemq::testing
