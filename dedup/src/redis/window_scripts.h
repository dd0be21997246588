// SPDX-License-Identifier: Apache-2.0
// The scripts of the window in Redis, and lists of their arguments.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "oncemq/clients/redis_client.h"

namespace oncemq {

// Thread safety: immutable.
struct WindowScripts {
  // `clock`: an expression of Lua, microseconds since 1970.
  explicit WindowScripts(std::string_view clock);
  RedisScript look, settle, write, forget, owner_epoch, open, announce, committed, sweep, uncertain;
  RedisScript append, trim;   // where partitions own their ids
  RedisScript scope, rights;  // without preamble.lua
};

// Views, and the bytes of some of them.
//
// Thread safety: none; belongs to one call.
class ScriptArguments {
 public:
  // The bytes outlive this.
  void Add(std::string_view view) { views_.push_back(view); }
  void Keep(std::string text) { views_.push_back(kept_.emplace_back(std::move(text))); }
  template <class Integer>
  void Number(Integer value) {
    Keep(std::to_string(value));
  }
  const RedisCommand& views() const { return views_; }

 private:
  RedisCommand views_;
  std::deque<std::string> kept_;
};

}  // namespace oncemq
