// SPDX-License-Identifier: Apache-2.0
// StoreGuard: spares a store that does not answer, and the callers: once it has been silent, one
// call in a second finds out whether it is back, and the others fail at once.
//
//   return guard([&] { return client.Run(command); });
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <utility>

#include "oncemq/base/circuit_breaker.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/result.h"

namespace oncemq {

class StoreGuard {
 public:
  // `store` as in "<store> has not answered lately".
  explicit StoreGuard(std::string store) : store_(std::move(store)) {}

  // `call` returns a Result or a Status. Failure: kUnavailable without a call.
  template <class Call>
  auto operator()(Call call) -> decltype(call()) {
    {
      MutexLock lock(mutex_);
      if (!breaker_.Lets(BootNow())) {
        return Error{
            Code::kUnavailable, Effect::kNone,
            store_ + " has not answered lately (" + why_ + "); it is asked again in a second"};
      }
    }
    auto answer = call();
    MutexLock lock(mutex_);
    if (!answer && answer.error().code == Code::kBusy) {
      return answer;  // the server was not asked
    }
    // StoreLogin spares a server that refuses us, and its error says more than ours.
    if (!answer && IsSilent(answer.error())) {
      breaker_.Failed(BootNow());
      why_ = answer.error().message;
    } else {
      breaker_.Succeeded();
    }
    return answer;
  }

 private:
  const std::string store_;
  Mutex mutex_;
  CircuitBreaker breaker_ GUARDED_BY(mutex_);
  std::string why_ GUARDED_BY(mutex_);  // of the last call that failed
};

}  // namespace oncemq
