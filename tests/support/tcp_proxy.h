// SPDX-License-Identifier: Apache-2.0
// A network between a client and a server on loopback, which can fall silent.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace oncemq::testing {

// Throws std::runtime_error when it cannot listen.
// Thread safety: any thread.
class TcpProxy {
 public:
  enum class Mode {
    kPass,
    kSilent,         // nothing goes either way, and no connection ends; it goes on later
    kSwallowReplies  // what the client says arrives, what the server says is lost
  };

  explicit TcpProxy(uint16_t to);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  void Set(Mode mode) { mode_ = mode; }

 private:
  struct Link {
    int client;
    int server;
  };
  void Run();
  void Accept();
  // False: one side has hung up.
  bool Carry(int from, int to, bool swallow) const;

  const uint16_t to_;
  uint16_t port_ = 0;
  int listens_ = -1;
  std::vector<Link> links_;  // the thread's
  std::atomic<Mode> mode_{Mode::kPass};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace oncemq::testing
