// SPDX-License-Identifier: Apache-2.0
// A network between a client and a server on loopback, which can fall silent.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "oncemq/base/mutex.h"
#include "relay_listener.h"

namespace oncemq::testing {

// Throws std::runtime_error when it cannot listen.
//
// Thread safety: any thread.
class TcpProxy {
 public:
  enum class Mode {
    kPass,
    kSilent,          // nothing goes either way, and no connection ends; it goes on later
    kSwallowReplies,  // what the client says arrives, what the server says is lost
    kHoldRequests,    // what the client says comes after LetGo(), even if it hangs up before
    kHoldReplies,     // what the client says arrives, what the server says comes later
    kLateReplies      // the same, and it comes every 20 ms: each step of a client takes as long
  };

  explicit TcpProxy(uint16_t to);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return listener_.port(); }
  void Set(Mode mode) { mode_ = mode; }
  // Another server is reached from now on; what was connected is cut.
  void PointTo(uint16_t port) { to_ = port; }
  // What clients said while requests were held arrives now; later modes do not matter to it.
  void LetGo() { lets_go_++; }
  // Whatever is connected now.
  void Cut() { cuts_++; }
  // Once, instead of carrying it: the connection on which a client next says this.
  void CutInsteadOf(const std::string& words) {
    MutexLock lock(mutex_);
    cut_at_ = words;
  }
  // Whatever is connected now and on which the first that its client said begins with this.
  void CutThoseBegunBy(const std::string& words) {
    MutexLock lock(mutex_);
    cut_begun_by_ = words;
  }
  // Once: the next message of the server is lost, with all that follow it on the same connection.
  // Messages of the client arrive.
  void MuteNext() { mutes_next_ = true; }
  // The same for whatever is connected now, as after a gateway that has forgotten it.
  void MuteAll() { mutes_++; }
  // How often it came to that for the next message.
  uint64_t muted() const { return muted_; }
  // How many were cut by their beginning. One that was asked for a moment ago may be missing.
  uint64_t cut_by_beginning() const { return cut_by_beginning_; }
  // How many bytes clients have said that went on to a server.
  uint64_t said() const { return said_; }

 private:
  struct Link {
    RelayEnds ends;
    uint16_t to;
    uint64_t cuts;                                // before it
    uint64_t mutes;                               // likewise
    std::string began = {};                       // what its client said first, not all of it
    bool mute = false;                            // messages of its server are lost
    std::optional<uint64_t> held = std::nullopt;  // what its client says, since so many LetGo()
  };
  void Run();
  void Accept();
  // How many bytes; none: one side has hung up, or is to be cut. `began`: of a client.
  size_t Carry(int from, int to, bool swallow, std::string* began);
  bool CutsAt(std::string_view said);
  std::string CutsThoseBegunBy();
  // Also counts it.
  bool WasBegunBy(const Link& link, const std::string& words);

  Mutex mutex_;
  std::string cut_at_ GUARDED_BY(mutex_);
  std::string cut_begun_by_ GUARDED_BY(mutex_);
  std::atomic<uint16_t> to_;
  std::atomic<uint64_t> cuts_{0};
  std::atomic<uint64_t> mutes_{0};
  std::atomic<uint64_t> lets_go_{0};
  std::atomic<uint64_t> said_{0};
  std::atomic<uint64_t> cut_by_beginning_{0};
  std::atomic<bool> mutes_next_{false};
  std::atomic<uint64_t> muted_{0};
  const RelayListener listener_;
  std::vector<Link> links_;  // the thread's
  std::atomic<Mode> mode_{Mode::kPass};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace oncemq::testing
