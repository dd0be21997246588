// SPDX-License-Identifier: Apache-2.0
// RedlockRound: one question to all masters, and what each of them said to it until now.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {

// One script, called once for each list: keys first, then arguments.
struct RedlockQuestion {
  const RedisScript* script = nullptr;  // outlives all masters
  size_t keys = 1;
  std::vector<std::vector<std::string>> lists;
  milliseconds within = milliseconds::max();  // each master answers, or the time of a call
};

// One reply for each list, or an error for all of them.
using RedlockAnswer = Result<std::vector<RedisReply>>;
// Of each master; nothing: it has not answered yet.
using RedlockAnswers = std::vector<std::optional<RedlockAnswer>>;

class RedlockRound {
 public:
  explicit RedlockRound(size_t masters) : answers_(masters) {}

  void Answer(size_t master, RedlockAnswer answer) {
    MutexLock lock(mutex_);
    if (!answers_[master]) {
      answers_[master] = std::move(answer);
      changed_.notify_all();
    }
  }

  // Until all have answered, or so many that `enough` says so, or `until`.
  RedlockAnswers Wait(BootTime until, const std::function<bool(const RedlockAnswers&)>& enough) {
    MutexLock lock(mutex_);
    const auto all = [](const RedlockAnswers& answers) {
      for (const auto& answer : answers) {
        if (!answer) {
          return false;
        }
      }
      return true;
    };
    for (;;) {
      const BootTime now = SystemClock::Instance().Boot();
      if (all(answers_) || enough(answers_) || now >= until) {
        return answers_;
      }
      changed_.wait_for(mutex_, until - now);
    }
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  RedlockAnswers answers_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
