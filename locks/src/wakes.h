// SPDX-License-Identifier: Apache-2.0
// Wakes: those of one engine who wait for a name. A wake is a hint: one that got lost costs the
// time until the waiter asks again by itself.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/base/token.h"

namespace oncemq {

class Wakes {
 public:
  // Whose turn it is now, of those; an Error if the store does not say.
  using TurnCheck = std::function<Result<std::vector<Token>>(const std::vector<Token>& waiting)>;

  // Before each request that may take a queue position: from now on a wake for this token is kept.
  void Expect(const Token& token);
  // It waits no more.
  void Forget(const Token& token);
  void Wake(const Token& token);
  void WakeAll();

  // Until it is woken, or was since Expect(); at `until`; or when `stop` is requested.
  void Await(const Token& token, BootTime until, const std::stop_token& stop);
  // The same where no other process tells anything: one of those who wait for a name here looks
  // again and again, less and less often, and passes that on when it goes.
  Status AwaitPolling(std::string_view name, const Token& token, BootTime until,
                      const std::stop_token& stop, const TurnCheck& check);

 private:
  struct Waiter {
    ConditionVariable changed;
    bool woken = false;
    std::string name;  // what it waits for now, where somebody has to look
  };

  std::shared_ptr<Waiter> Find(const Token& token) REQUIRES(mutex_);
  std::vector<Token> WhoWaitsFor(std::string_view name) REQUIRES(mutex_);
  void PassOn(std::string_view name) REQUIRES(mutex_);

  Mutex mutex_;
  std::map<Token, std::shared_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> polled_ GUARDED_BY(mutex_);  // names
};

}  // namespace oncemq
