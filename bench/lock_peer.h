// SPDX-License-Identifier: Apache-2.0
// What users would pick instead of our locks, run beside a bench of them: a program of bench/peers
// that takes orders, so that its rounds alternate with ours while its code stays compiled. It gets
// the store's address and the port of 127.0.0.1 where its orders come from. An order is a line,
// WHAT COUNT; its answer is a line of so many microseconds, one for each time that it did that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lock_bench.h"
#include "peer.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::bench {

// Thread safety: one thread at a time, one that stays (testing::Process). Each call blocks, at most
// for two minutes, and throws std::runtime_error with the peer's words when it fails.
class LockPeer {
 public:
  // Of a store at this address.
  LockPeer(const Peer& peer, const std::string& peers_dir, const std::string& address);
  ~LockPeer();
  LockPeer(const LockPeer&) = delete;
  LockPeer& operator=(const LockPeer&) = delete;

  const std::string& name() const { return name_; }
  // us of each.
  std::vector<double> RunOrder(const std::string& what, int count);

 private:
  [[noreturn]] void Fail(const std::string& what);

  const std::string name_;
  const testing::TempDir dir_;
  int fd_ = -1;
  std::unique_ptr<testing::Process> process_;
};

struct LockRivals {
  const LockSubject& subject;
  LockPeer& peer;
  // How many requests the store has had.
  std::function<double()> requests;
};

// Ours, the peer's and the raw calls, each in a block of its own, so that none is on the way to
// another's connection; the blocks take turns, and turns at being first. The peer is asked for
// "mutex" and "semaphore", pairs of two kinds of locks, and for "hand-off".
void MeasureBesidePeer(const LockRivals& rivals, Report& report);

}  // namespace oncemq::bench
