// SPDX-License-Identifier: Apache-2.0
// A network between a client and a server on loopback in which each message takes its time. Many
// may be on their way at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "relay_listener.h"

namespace oncemq::testing {

// Throws std::runtime_error when it cannot listen.
//
// Thread safety: any thread.
class SlowNetwork {
 public:
  // A round trip takes twice `one_way`.
  SlowNetwork(uint16_t to, std::chrono::milliseconds one_way);
  ~SlowNetwork();
  SlowNetwork(const SlowNetwork&) = delete;
  SlowNetwork& operator=(const SlowNetwork&) = delete;

  uint16_t port() const { return listener_.port(); }

 private:
  using Moment = std::chrono::steady_clock::time_point;
  // One direction of a connection.
  struct Flow {
    int from = -1;
    int to = -1;
    // The bytes that were sent, and when they arrive. No bytes: the end.
    std::deque<std::pair<Moment, std::string>> under_way = {};
    bool ended = false;
  };
  struct Link {
    RelayEnds ends;
    Flow there;
    Flow back;
  };
  void Run();
  void Accept();
  void Hear(Flow& flow) const;
  // False: the connection is over.
  static bool Deliver(Flow& flow);
  Moment NextArrival() const;

  const uint16_t to_;
  const std::chrono::milliseconds one_way_;
  const RelayListener listener_;
  std::vector<Link> links_;  // the thread's
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace oncemq::testing
