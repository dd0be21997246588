// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/memory_locks.h"

#include <algorithm>
#include <map>

#include "lock_table.h"
#include "oncemq/base/mutex.h"

namespace oncemq {
namespace {

constexpr LockCapabilities kMemoryCan{.engine = "memory",
                                      .fair = true,
                                      .unfair = true,
                                      .shared = true,
                                      .counted = true,
                                      .wakes = true,
                                      .fence = true,
                                      .long_holds = true,
                                      .seals = true};

// Behind those of whoever ran before, as targets remember them.
uint64_t FirstFence(const Clock& clock) {
  return static_cast<uint64_t>(std::max<int64_t>(0, clock.Wall().micros));
}

class MemoryLocks final : public LockEngine {
 public:
  MemoryLocks(const MemoryLockOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}

  const LockCapabilities& capabilities() const override { return kMemoryCan; }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    MutexLock lock(mutex_);
    if (table_.names() >= options_.max_names && table_.NeedsName(request)) {
      table_.Sweep(clock_.Boot());  // some may have ended without a word
    }
    if (table_.names() >= options_.max_names && table_.NeedsName(request)) {
      return Error{Code::kFull, Effect::kNone, "more names are held than max_names allows"};
    }
    if (table_.NeedsQueuePosition(options_.max_waiters, request)) {
      return Error{Code::kFull, Effect::kNone, "more wait for this name than max_waiters allows"};
    }
    LockTable::Turns turns;
    const LockAnswer answer = table_.Request(request, clock_.Boot(), turns);
    Wake(turns);
    return answer;
  }

  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    MutexLock lock(mutex_);
    const BootTime now = clock_.Boot();
    if (until <= now || table_.MyTurn(request.name, request.token, now)) {
      return {};
    }
    Sleeper sleeper;
    const auto at = sleepers_.emplace(request.token, &sleeper);
    sleeper.changed.wait_for(mutex_, stop, until - now, [&] { return sleeper.woken; });
    sleepers_.erase(at);
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    MutexLock lock(mutex_);
    LockTable::Turns turns;
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = table_.Extend(claims[i], clock_.Boot(), turns);
    }
    Wake(turns);
    return {};
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    MutexLock lock(mutex_);
    LockTable::Turns turns;
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = table_.Free(claims[i], clock_.Boot(), turns);
    }
    Wake(turns);
    return {};
  }

  Result<size_t> Recall(std::string_view name) override {
    MutexLock lock(mutex_);
    return table_.Recall(name, clock_.Boot());
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    MutexLock lock(mutex_);
    LockTable::Turns turns;
    const Freed freed = table_.Evict(name, fence, clock_.Boot(), turns);
    Wake(turns);
    return freed;
  }

  Result<LockView> Read(std::string_view name) override {
    MutexLock lock(mutex_);
    return table_.Read(name, clock_.Boot());
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    MutexLock lock(mutex_);
    return table_.Names(after, limit);
  }

  Result<uint32_t> Seal(uint32_t epoch) override {
    MutexLock lock(mutex_);
    return table_.Seal(epoch);
  }

 private:
  struct Sleeper {
    ConditionVariable changed;
    bool woken = false;
  };

  void Wake(const LockTable::Turns& turns) REQUIRES(mutex_) {
    for (const Token& token : turns) {
      const auto [begin, end] = sleepers_.equal_range(token);
      for (auto at = begin; at != end; ++at) {
        at->second->woken = true;
        at->second->changed.notify_one();
      }
    }
  }

  const MemoryLockOptions options_;
  const Clock& clock_;
  Mutex mutex_;
  LockTable table_ GUARDED_BY(mutex_){FirstFence(clock_)};
  std::multimap<Token, Sleeper*> sleepers_ GUARDED_BY(mutex_);
};

}  // namespace

LockCapabilities MemoryLockCapabilities() {
  return kMemoryCan;
}

std::shared_ptr<LockEngine> MakeMemoryLocks(const MemoryLockOptions& options, const Clock& clock) {
  return std::make_shared<MemoryLocks>(options, clock);
}

}  // namespace oncemq
