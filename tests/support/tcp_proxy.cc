// SPDX-License-Identifier: Apache-2.0
#include "tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace oncemq::testing {
namespace {

using WaitClock = std::chrono::steady_clock;

constexpr int kLookEveryMs = 5;
constexpr std::chrono::milliseconds kLateBy{20};
constexpr size_t kBeginning = 32;

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
  WaitClock::time_point replies_at{};  // where they are late
  while (!ends_) {
    const Mode mode = mode_;
    const bool late = mode == Mode::kLateReplies && WaitClock::now() < replies_at;
    const bool holds = late || mode == Mode::kHoldReplies;
    std::vector<pollfd> waits{{listens_, POLLIN, 0}};
    if (mode != Mode::kSilent) {
      for (const Link& link : links_) {
        waits.push_back({link.client, POLLIN, 0});
        waits.push_back({holds ? -1 : link.server, POLLIN, 0});
      }
    }
    if (poll(waits.data(), waits.size(), kLookEveryMs) < 0) {
      continue;
    }
    if (!holds) {
      replies_at = WaitClock::now() + kLateBy;
    }
    const std::string begun_by = CutsThoseBegunBy();
    for (size_t i = links_.size(); i-- > 0 && mode != Mode::kSilent;) {
      Link& link = links_[i];
      bool ended = link.to != to_ || link.cuts != cuts_ || WasBegunBy(link, begun_by);
      if (!ended && waits[1 + 2 * i].revents != 0) {
        const size_t said = Carry(link.client, link.server, false, &link.began);
        said_ += said;
        ended = said == 0;
      }
      if (!ended && waits[2 + 2 * i].revents != 0) {
        if (mutes_next_.exchange(false)) {
          link.mute = true;
          muted_++;
        }
        const bool swallow = link.mute || mode == Mode::kSwallowReplies;
        ended = Carry(link.server, link.client, swallow, nullptr) == 0;
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

std::string TcpProxy::CutsThoseBegunBy() {
  MutexLock lock(mutex_);
  return std::exchange(cut_begun_by_, {});
}

bool TcpProxy::WasBegunBy(const Link& link, const std::string& words) {
  const bool was = !words.empty() && link.began.starts_with(words);
  cut_by_beginning_ += was ? 1 : 0;
  return was;
}

size_t TcpProxy::Carry(int from, int to, bool swallow, std::string* began) {
  std::array<char, 65536> bytes;
  const ssize_t length = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (length <= 0) {
    return 0;
  }
  const std::string_view said(bytes.data(), static_cast<size_t>(length));
  if (began != nullptr) {
    began->append(said.substr(0, kBeginning - std::min(kBeginning, began->size())));
    if (CutsAt(said)) {
      return 0;
    }
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
