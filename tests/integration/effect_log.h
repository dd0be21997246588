// SPDX-License-Identifier: Apache-2.0
// The target of a test's effects: append-only, it does not de-duplicate, and it is judged
// afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/handler.h"

namespace oncemq::testing {

struct Effect {
  std::string id;
  std::string key;
  int64_t number = 0;  // the producer's, ascending within a key
  int32_t partition = 0;
  int64_t offset = 0;
};

// Thread safety: any thread.
class EffectLog {
 public:
  // The value of a message is its number.
  void Append(const Message& message, const Context& context);
  size_t size() const;
  std::vector<Effect> All() const;

  // What is wrong with the log, one line each; empty: every id of `expected` once, and each key in
  // order.
  std::vector<std::string> Judge(const std::set<std::string>& expected) const;

 private:
  mutable Mutex mutex_;
  std::vector<Effect> effects_ GUARDED_BY(mutex_);
};

}  // namespace oncemq::testing
