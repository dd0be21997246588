// SPDX-License-Identifier: Apache-2.0
#include "tcp_proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace oncemq::testing {
namespace {

using WaitClock = std::chrono::steady_clock;

constexpr int kPollEveryMs = 5;
constexpr std::chrono::milliseconds kLateBy{20};
constexpr size_t kBeginning = 32;

}  // namespace

TcpProxy::TcpProxy(uint16_t to) : to_(to), thread_([this] { Run(); }) {}

TcpProxy::~TcpProxy() {
  ends_ = true;
  thread_.join();
  for (const Link& link : links_) {
    link.ends.Close();
  }
}

void TcpProxy::Run() {
  WaitClock::time_point replies_at{};  // where they are late
  while (!ends_) {
    const Mode mode = mode_;
    const bool late = mode == Mode::kLateReplies && WaitClock::now() < replies_at;
    const bool holds = late || mode == Mode::kHoldReplies;
    std::vector<pollfd> waits{{listener_.fd(), POLLIN, 0}};
    if (mode != Mode::kSilent) {
      for (const Link& link : links_) {
        waits.push_back({link.ends.client, POLLIN, 0});
        waits.push_back({holds ? -1 : link.ends.server, POLLIN, 0});
      }
    }
    if (poll(waits.data(), waits.size(), kPollEveryMs) < 0 || mode_ != mode) {
      continue;  // by the new mode nothing may have arrived
    }
    if (!holds) {
      replies_at = WaitClock::now() + kLateBy;
    }
    const std::string begun_by = CutsThoseBegunBy();
    for (size_t i = links_.size(); i-- > 0 && mode != Mode::kSilent;) {
      Link& link = links_[i];
      if (mode == Mode::kHoldRequests && waits[1 + 2 * i].revents != 0 && !link.held) {
        link.held = lets_go_;
      }
      if (link.held && *link.held == lets_go_) {
        continue;
      }
      bool ended = link.to != to_ || link.cuts != cuts_ || WasBegunBy(link, begun_by);
      if (!ended && waits[1 + 2 * i].revents != 0) {
        const size_t said = Carry(link.ends.client, link.ends.server, false, &link.began);
        said_ += said;
        ended = said == 0;
      }
      if (!ended && waits[2 + 2 * i].revents != 0) {
        if (mutes_next_.exchange(false)) {
          link.mute = true;
          muted_++;
        }
        const bool mute = link.mute || link.mutes != mutes_;
        const bool swallow = mute || mode == Mode::kSwallowReplies;
        ended = Carry(link.ends.server, link.ends.client, swallow, nullptr) == 0;
      }
      if (ended) {
        link.ends.Close();
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
  const uint64_t mutes = mutes_;
  const uint16_t to = to_;
  if (const auto ends = listener_.Accept(to)) {
    links_.push_back({*ends, to, cuts, mutes});
  }
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
  return swallow || SendAll(to, said) ? said.size() : 0;
}

}  // namespace oncemq::testing
