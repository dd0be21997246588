// SPDX-License-Identifier: Apache-2.0
// A listener that speaks the protocol of Redis, and answers as a test wants.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "loopback_port.h"

namespace oncemq::testing {

// Thread safety: any thread; `says` is called by several at a time.
class ScriptedRedis {
 public:
  // From the words of a command to the bytes of its answer.
  using Says = std::function<std::string(const std::vector<std::string>& words)>;
  // Throws std::runtime_error when it cannot listen.
  explicit ScriptedRedis(Says says);
  ~ScriptedRedis();
  ScriptedRedis(const ScriptedRedis&) = delete;
  ScriptedRedis& operator=(const ScriptedRedis&) = delete;

  std::string url() const { return "redis://" + port_.address(); }

  static std::string Bulk(std::string_view text);

 private:
  void Serve(int connection);

  const Says says_;
  const LoopbackPort port_;
  std::atomic<bool> ends_{false};
  std::vector<std::jthread> connections_;  // the accepting thread's
  std::thread accepts_;
};

}  // namespace oncemq::testing
