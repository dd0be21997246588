// SPDX-License-Identifier: Apache-2.0
#include "wakes.h"

#include <algorithm>

namespace oncemq {
namespace {

constexpr milliseconds kShortestPoll{20};
constexpr milliseconds kLongestPoll{250};

}  // namespace

void Wakes::Expect(const Token& token) {
  MutexLock lock(mutex_);
  std::shared_ptr<Waiter>& waiter = waiters_[token];
  if (!waiter) {
    waiter = std::make_shared<Waiter>();
  }
  waiter->woken = false;
}

void Wakes::Forget(const Token& token) {
  MutexLock lock(mutex_);
  waiters_.erase(token);
}

void Wakes::Wake(const Token& token) {
  MutexLock lock(mutex_);
  if (const auto waiter = Find(token)) {
    waiter->woken = true;
    waiter->changed.notify_all();
  }
}

void Wakes::WakeAll() {
  MutexLock lock(mutex_);
  for (auto& [token, waiter] : waiters_) {
    waiter->woken = true;
    waiter->changed.notify_all();
  }
}

std::shared_ptr<Wakes::Waiter> Wakes::Find(const Token& token) {
  const auto at = waiters_.find(token);
  return at == waiters_.end() ? nullptr : at->second;
}

void Wakes::Await(const Token& token, BootTime until, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto waiter = Find(token);
  if (!waiter) {
    return;  // nobody expects anything
  }
  waiter->changed.wait_for(mutex_, stop, until - BootNow(), [&] { return waiter->woken; });
  waiter->woken = false;
}

std::vector<Token> Wakes::WhoWaitsFor(std::string_view name) {
  std::vector<Token> tokens;
  for (const auto& [token, waiter] : waiters_) {
    if (waiter->name == name) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

// Whoever goes passes the looking on.
void Wakes::PassOn(std::string_view name) {
  if (polled_.contains(name)) {
    return;
  }
  for (const auto& [token, waiter] : waiters_) {
    if (waiter->name == name) {
      waiter->changed.notify_all();
    }
  }
}

Status Wakes::AwaitPolling(std::string_view name, const Token& token, BootTime until,
                           const std::stop_token& stop, const TurnCheck& check) {
  for (milliseconds pause = kShortestPoll;; pause = std::min(pause * 3 / 2, kLongestPoll)) {
    std::vector<Token> waiting;
    {
      MutexLock lock(mutex_);
      const auto waiter = Find(token);
      if (!waiter) {
        PassOn(name);
        return {};
      }
      waiter->name = name;
      const auto mine = [&, polled = &polled_] { return waiter->woken || !polled->contains(name); };
      waiter->changed.wait_for(mutex_, stop, until - BootNow(), mine);
      const bool polls = !waiter->woken && !polled_.contains(name);
      if (polls) {
        polled_.emplace(name);
        waiter->changed.wait_for(mutex_, stop, std::min<microseconds>(pause, until - BootNow()),
                                 [&] { return waiter->woken; });
      }
      if (waiter->woken || stop.stop_requested() || BootNow() >= until) {
        waiter->woken = false;
        waiter->name.clear();
        if (polls) {
          polled_.erase(polled_.find(name));
        }
        PassOn(name);
        return {};
      }
      if (!polls) {
        continue;
      }
      waiting = WhoWaitsFor(name);
    }
    const auto turns = check(waiting);
    MutexLock lock(mutex_);
    for (const Token& turn : turns.value_or(std::vector<Token>())) {
      if (const auto woken = Find(turn)) {
        woken->woken = true;
        woken->changed.notify_all();
      }
    }
    // It looks again itself, after a longer pause.
    polled_.erase(polled_.find(name));
    if (!turns) {
      PassOn(name);
      return turns.error();
    }
  }
}

}  // namespace oncemq
