// SPDX-License-Identifier: Apache-2.0
#include "tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace oncemq::testing {
namespace {

constexpr int kLookEveryMs = 5;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

TcpProxy::TcpProxy(uint16_t to)
    : to_(to), listens_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  if (bind(listens_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listens_, 64) != 0 ||
      getsockname(listens_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  ends_ = true;
  thread_.join();
  for (const Link& link : links_) {
    close(link.client);
    close(link.server);
  }
  close(listens_);
}

void TcpProxy::Run() {
  while (!ends_) {
    const Mode mode = mode_;
    std::vector<pollfd> waits{{listens_, POLLIN, 0}};
    if (mode != Mode::kSilent) {
      for (const Link& link : links_) {
        waits.push_back({link.client, POLLIN, 0});
        waits.push_back({mode == Mode::kHoldReplies ? -1 : link.server, POLLIN, 0});
      }
    }
    if (poll(waits.data(), waits.size(), kLookEveryMs) < 0) {
      continue;
    }
    for (size_t i = links_.size(); i-- > 0 && mode != Mode::kSilent;) {
      const Link link = links_[i];
      bool ended = link.to != to_ || link.cuts != cuts_;
      if (!ended && waits[1 + 2 * i].revents != 0) {
        const size_t said = Carry(link.client, link.server, false, true);
        said_ += said;
        ended = said == 0;
      }
      if (!ended && waits[2 + 2 * i].revents != 0) {
        ended = Carry(link.server, link.client, mode == Mode::kSwallowReplies, false) == 0;
      }
      if (ended) {
        close(link.client);
        close(link.server);
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (waits[0].revents != 0) {
      Accept();
    }
  }
}

void TcpProxy::Accept() {
  const uint64_t cuts = cuts_;
  const int client = accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const uint16_t to = to_;
  const sockaddr_in address = Loopback(to);
  if (client < 0 ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(client);
    close(server);
    return;
  }
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  links_.push_back({client, server, to, cuts});
}

bool TcpProxy::CutsAt(std::string_view said) {
  MutexLock lock(mutex_);
  const bool cuts = !cut_at_.empty() && said.find(cut_at_) != std::string_view::npos;
  if (cuts) {
    cut_at_.clear();
  }
  return cuts;
}

size_t TcpProxy::Carry(int from, int to, bool swallow, bool says) {
  std::array<char, 65536> bytes;
  const ssize_t length = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (length <= 0 || (says && CutsAt({bytes.data(), static_cast<size_t>(length)}))) {
    return 0;
  }
  for (ssize_t sent = 0; sent < length && !swallow;) {
    const ssize_t some =
        send(to, bytes.data() + sent, static_cast<size_t>(length - sent), MSG_NOSIGNAL);
    if (some <= 0) {
      return 0;
    }
    sent += some;
  }
  return static_cast<size_t>(length);
}

}  // namespace oncemq::testing
