// SPDX-License-Identifier: Apache-2.0
// ZooKeeperWaits: those of this engine who wait for a name, and the node that each of them watches.
//
// Thread safety: any thread.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/token.h"

namespace oncemq {

class ZooKeeperWaits {
 public:
  // Before the node is watched: from now on its change is kept.
  void Expect(const Token& token, const std::string& node);
  // It waits no more.
  void Forget(const Token& token);
  // Its place has ended: it is to ask again.
  void Drop(const Token& token);
  // Whether the node that it waits for has changed.
  bool Woken(const Token& token);
  // Until its node changes, or has since Expect(); at `until`; or when `stop` is requested.
  void Await(const Token& token, BootTime until, const std::stop_token& stop);

  void Changed(std::string_view node);
  void WakeAll();

 private:
  struct Waiter {
    std::string node;
    bool woken = false;
    ConditionVariable changed;
  };

  Mutex mutex_;
  std::map<Token, std::shared_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
  // Each waiter, under its node.
  std::multimap<std::string, std::shared_ptr<Waiter>, std::less<>> nodes_ GUARDED_BY(mutex_);
  void Unfile(const std::shared_ptr<Waiter>& waiter) REQUIRES(mutex_);
};

}  // namespace oncemq
