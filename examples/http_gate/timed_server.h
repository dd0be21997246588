// SPDX-License-Identifier: Apache-2.0
// TimedServer: a server of cpp-httplib that waits for a request only so long. A header to copy.
//
// cpp-httplib bounds each read and not their sum: a client that sends a byte now and then keeps a
// thread for ever, and as many of them as there are threads keep the server.
//
// Thread safety: as httplib::Server.
#pragma once

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

class TimedServer : public httplib::Server {
 public:
  // From the first byte of a request to its last one; each write may take as long.
  explicit TimedServer(std::chrono::milliseconds request) : request_(request) {}

 private:
  using Clock = std::chrono::steady_clock;

  class Connection : public httplib::Stream {
   public:
    explicit Connection(socket_t socket) : socket_(socket) {}

    void Begin(std::chrono::milliseconds request) {
      each_ = request;
      until_ = Clock::now() + request;
      refused_ = false;
    }
    // The rest of a refused request may still be under way, and is no request of its own.
    bool refused() const { return refused_; }
    bool Ready(short events, std::chrono::milliseconds within) const {
      pollfd one{.fd = socket_, .events = events, .revents = 0};
      return ::poll(&one, 1, static_cast<int>(std::max<int64_t>(within.count(), 0))) == 1;
    }
    bool is_readable() const override { return at_ < end_ || Ready(POLLIN, Left()); }
    bool is_writable() const override { return Ready(POLLOUT, each_); }
    ssize_t read(char* to, size_t size) override {
      if (at_ == end_) {
        const ssize_t got =
            Ready(POLLIN, Left()) ? ::recv(socket_, bytes_.data(), bytes_.size(), 0) : -1;
        if (got <= 0 || Clock::now() >= until_) {
          return got == 0 ? 0 : -1;
        }
        at_ = 0;
        end_ = static_cast<size_t>(got);
      }
      const size_t taken = std::min(size, end_ - at_);
      std::copy_n(bytes_.data() + at_, taken, to);
      at_ += taken;
      return static_cast<ssize_t>(taken);
    }
    ssize_t write(const char* from, size_t size) override {
      refused_ |= std::string_view(from, size).starts_with("HTTP/1.1 4");
      return is_writable() ? ::send(socket_, from, size, MSG_NOSIGNAL) : -1;
    }
    void get_remote_ip_and_port(std::string& ip, int& port) const override {
      Name(::getpeername, ip, port);
    }
    void get_local_ip_and_port(std::string& ip, int& port) const override {
      Name(::getsockname, ip, port);
    }
    socket_t socket() const override { return socket_; }

   private:
    std::chrono::milliseconds Left() const {
      return std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now());
    }
    template <class GetName>
    void Name(GetName get_name, std::string& ip, int& port) const {
      sockaddr_in address{};
      socklen_t size = sizeof address;
      if (get_name(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
          address.sin_family == AF_INET) {
        std::array<char, INET_ADDRSTRLEN> text{};
        ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
        ip = text.data();
        port = ntohs(address.sin_port);
      }
    }

    const socket_t socket_;
    std::array<char, 4096> bytes_{};  // [at_, end_) is read from the socket, and not taken
    size_t at_ = 0;
    size_t end_ = 0;
    std::chrono::milliseconds each_{0};
    Clock::time_point until_;
    bool refused_ = false;
  };

  // As in the base: requests until one closes the connection, or none comes.
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket);
    bool served = false;
    bool closed = false;
    for (size_t left = keep_alive_max_count_; left > 0 && !closed; left--) {
      connection.Begin(std::chrono::seconds(keep_alive_timeout_sec_));
      if (svr_sock_ == INVALID_SOCKET || !connection.is_readable()) {
        break;
      }
      connection.Begin(request_);
      served = process_request(connection, left == 1, closed, nullptr);
      closed = closed || !served || connection.refused();
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return served;
  }

  const std::chrono::milliseconds request_;
};
