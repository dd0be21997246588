// SPDX-License-Identifier: Apache-2.0
// RedlockTries: by which token the masters know a request. Each try has a new one: what takes a
// failed try back may reach a master late, and must not hit the next try of the same request.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/token.h"

namespace oncemq {

struct RedlockTry {
  Token token;
  BootTime until;  // its hold has ended then, for whoever asked
  uint32_t epoch = 0;
  std::string who;
  bool given_back = false;  // whatever may still come of it
};

class RedlockTries {
 public:
  RedlockTries();

  // The one that goes on for this request, or a new one.
  RedlockTry Of(const Token& request, BootTime now, BootTime until, uint32_t epoch,
                std::string_view who);
  // Nothing: never asked, ended long ago, or forgotten.
  std::optional<RedlockTry> Find(const Token& request);
  // It lasts until then. Without effect if it is another try meanwhile, or given back.
  void Lasts(const Token& request, const Token& token, BootTime until);
  void Forget(const Token& request);
  // It is given back: asked again, it is a new one. What it was.
  std::optional<RedlockTry> GiveBack(const Token& request);
  // Unless it is given back meanwhile: what gives it back comes behind `act`.
  void UnlessGivenBack(const Token& request, const Token& token, const std::function<void()>& act);

 private:
  struct Order {
    bool operator()(const Token& a, const Token& b) const {
      return a.process != b.process ? a.process < b.process : a.attempt < b.attempt;
    }
  };

  const uint64_t process_;
  Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  size_t sweep_at_ GUARDED_BY(mutex_) = 1024;
  std::map<Token, RedlockTry, Order> tries_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
