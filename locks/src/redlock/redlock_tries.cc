// SPDX-License-Identifier: Apache-2.0
#include "redlock_tries.h"

#include <algorithm>

#include "oncemq/base/random.h"

namespace oncemq {

RedlockTries::RedlockTries() : process_(SecureRandom64()) {}

RedlockTry RedlockTries::Of(const Token& request, BootTime now, BootTime until, uint32_t epoch,
                            std::string_view who) {
  MutexLock lock(mutex_);
  if (tries_.size() >= sweep_at_) {
    std::erase_if(tries_, [now](const auto& entry) { return entry.second.until <= now; });
    sweep_at_ = std::max<size_t>(1024, tries_.size() * 2);
  }
  const auto [at, added] = tries_.try_emplace(request);
  if (added || at->second.until <= now || at->second.given_back) {
    at->second = {{process_, ++last_}, until, epoch, std::string(who), false};
  }
  return at->second;
}

std::optional<RedlockTry> RedlockTries::Find(const Token& request) {
  MutexLock lock(mutex_);
  const auto at = tries_.find(request);
  return at == tries_.end() ? std::nullopt : std::optional(at->second);
}

void RedlockTries::Lasts(const Token& request, const Token& token, BootTime until) {
  MutexLock lock(mutex_);
  const auto at = tries_.find(request);
  if (at != tries_.end() && at->second.token == token && !at->second.given_back) {
    at->second.until = std::max(at->second.until, until);
  }
}

std::optional<RedlockTry> RedlockTries::GiveBack(const Token& request) {
  MutexLock lock(mutex_);
  const auto at = tries_.find(request);
  if (at == tries_.end()) {
    return std::nullopt;
  }
  at->second.given_back = true;
  return at->second;
}

void RedlockTries::UnlessGivenBack(const Token& request, const Token& token,
                                   const std::function<void()>& act) {
  MutexLock lock(mutex_);
  const auto at = tries_.find(request);
  if (at != tries_.end() && at->second.token == token && !at->second.given_back) {
    act();
  }
}

void RedlockTries::Forget(const Token& request) {
  MutexLock lock(mutex_);
  tries_.erase(request);
}

}  // namespace oncemq
