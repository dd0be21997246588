// SPDX-License-Identifier: Apache-2.0
#include "slow_network.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>

namespace oncemq::testing {
namespace {

using SlowClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestNap{5};

sockaddr_in SlowLoopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Finer than the milliseconds of poll(): a round trip may take two of them.
void WaitFor(std::vector<pollfd>& waits, std::chrono::nanoseconds nap) {
  const timespec time{0, std::clamp<std::chrono::nanoseconds>(nap, {}, kLongestNap).count()};
  ppoll(waits.data(), waits.size(), &time, nullptr);
}

}  // namespace

SlowNetwork::SlowNetwork(uint16_t to, std::chrono::milliseconds one_way)
    : to_(to), one_way_(one_way), listens_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = SlowLoopback(0);
  socklen_t length = sizeof address;
  if (bind(listens_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listens_, 64) != 0 ||
      getsockname(listens_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("the slow network cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

SlowNetwork::~SlowNetwork() {
  ends_ = true;
  thread_.join();
  for (const Link& link : links_) {
    close(link.there.from);
    close(link.there.to);
  }
  close(listens_);
}

SlowNetwork::Moment SlowNetwork::NextArrival() const {
  Moment next = SlowClock::now() + kLongestNap;
  for (const Link& link : links_) {
    for (const Flow* flow : {&link.there, &link.back}) {
      if (!flow->under_way.empty()) {
        next = std::min(next, flow->under_way.front().first);
      }
    }
  }
  return next;
}

void SlowNetwork::Run() {
  while (!ends_) {
    std::vector<pollfd> waits{{listens_, POLLIN, 0}};
    for (const Link& link : links_) {
      waits.push_back({link.there.ended ? -1 : link.there.from, POLLIN, 0});
      waits.push_back({link.back.ended ? -1 : link.back.from, POLLIN, 0});
    }
    WaitFor(waits, NextArrival() - SlowClock::now());
    for (size_t i = links_.size(); i-- > 0;) {
      Link& link = links_[i];
      if (waits[1 + 2 * i].revents != 0) {
        Hear(link.there);
      }
      if (waits[2 + 2 * i].revents != 0) {
        Hear(link.back);
      }
      if (!Deliver(link.there) || !Deliver(link.back)) {
        close(link.there.from);
        close(link.there.to);
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (waits[0].revents != 0) {
      Accept();
    }
  }
}

void SlowNetwork::Accept() {
  const int client = accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = SlowLoopback(to_);
  if (client < 0 ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(client);
    close(server);
    return;
  }
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  links_.push_back({{.from = client, .to = server}, {.from = server, .to = client}});
}

void SlowNetwork::Hear(Flow& flow) const {
  std::array<char, 65536> bytes;
  const ssize_t length = recv(flow.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  flow.ended = length <= 0;
  flow.under_way.emplace_back(
      SlowClock::now() + one_way_,
      std::string(bytes.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))));
}

bool SlowNetwork::Deliver(Flow& flow) {
  const Moment now = SlowClock::now();
  for (; !flow.under_way.empty() && flow.under_way.front().first <= now;
       flow.under_way.pop_front()) {
    const std::string& said = flow.under_way.front().second;
    if (said.empty()) {
      return false;
    }
    for (size_t sent = 0; sent < said.size();) {
      const ssize_t some = send(flow.to, said.data() + sent, said.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) {
        return false;
      }
      sent += static_cast<size_t>(some);
    }
  }
  return true;
}

}  // namespace oncemq::testing
