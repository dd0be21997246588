// SPDX-License-Identifier: Apache-2.0
#include "slow_network.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace oncemq::testing {
namespace {

using SlowClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestNap{5};

// Finer than the milliseconds of poll(): a round trip may take two of them.
void WaitFor(std::vector<pollfd>& waits, std::chrono::nanoseconds nap) {
  const timespec time{0, std::clamp<std::chrono::nanoseconds>(nap, {}, kLongestNap).count()};
  ppoll(waits.data(), waits.size(), &time, nullptr);
}

}  // namespace

SlowNetwork::SlowNetwork(uint16_t to, std::chrono::milliseconds one_way)
    : to_(to), one_way_(one_way), thread_([this] { Run(); }) {}

SlowNetwork::~SlowNetwork() {
  ends_ = true;
  thread_.join();
  for (const Link& link : links_) {
    link.ends.Close();
  }
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
    std::vector<pollfd> waits{{listener_.fd(), POLLIN, 0}};
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
        link.ends.Close();
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (waits[0].revents != 0) {
      Accept();
    }
  }
}

void SlowNetwork::Accept() {
  if (const auto ends = listener_.Accept(to_)) {
    links_.push_back({*ends,
                      {.from = ends->client, .to = ends->server},
                      {.from = ends->server, .to = ends->client}});
  }
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
    if (said.empty() || !SendAll(flow.to, said)) {
      return false;
    }
  }
  return true;
}

}  // namespace oncemq::testing
