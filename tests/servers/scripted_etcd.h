// SPDX-License-Identifier: Apache-2.0
// What looks like an etcd and says what a test wants.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback_port.h"

namespace oncemq::testing {

// Thread safety: any thread; `says` is called by several at a time.
class ScriptedEtcd {
 public:
  // From a path and the JSON that came with it to the JSON of the answer.
  using Says = std::function<std::string(const std::string& path, const std::string& json)>;
  // Throws std::runtime_error when it cannot listen.
  explicit ScriptedEtcd(Says says);
  ~ScriptedEtcd();
  ScriptedEtcd(const ScriptedEtcd&) = delete;
  ScriptedEtcd& operator=(const ScriptedEtcd&) = delete;

  std::string url() const { return "etcd://" + port_.address(); }
  // From now on the head of an answer comes a byte every 20 ms, for 12 s.
  void Drip() { drips_ = true; }

  static std::string Header(int64_t revision, int term);

 private:
  void Serve(int connection);
  void Answer(int connection, const std::string& json);

  const Says says_;
  const LoopbackPort port_;
  std::atomic<bool> drips_{false};
  std::atomic<bool> ends_{false};
  int listens_ = -1;
  std::vector<std::jthread> connections_;  // the accepting thread's
  std::thread accepts_;
};

}  // namespace oncemq::testing
