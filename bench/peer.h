// SPDX-License-Identifier: Apache-2.0
// What users would pick instead, run beside a bench: the programs of bench/peers. Those of a
// runtime read the topic that the bench has filled and say how long that took; of locks:
// lock_peer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace oncemq::bench {

struct Peer {
  std::string name;    // as the cases of the report call it
  std::string folder;  // of its program, below the one that --peers names
  // Measured at most so many messages, after so many others: for a peer whose rate is known long
  // before it has read all, and for one that starts on code that is not compiled yet.
  std::optional<int64_t> at_most = std::nullopt;
  int64_t warm_up = 0;
};

struct PeerRun {
  std::string bootstrap;
  std::string topic;
  std::string group;
  int64_t messages = 0;  // in the topic
  int64_t distinct = 0;  // of them
};

// The folder of the peers, when --peers names it and this one can be run from there. If it can't,
// that is said loudly; with REQUIRE_BACKENDS=1 it throws std::runtime_error.
std::optional<std::string> PeersDir(const Peer& peer, int argc, char** argv);
std::string PeerProgram(const Peer& peer, const std::string& peers_dir);

// Messages per second, from the first to the last that are measured. Throws std::runtime_error with
// the peer's words when it fails, takes longer than six minutes, or ran its handler another number
// of times than it should.
//
// Thread safety: from a thread that stays (testing::Process). Blocks until the peer is gone.
double RunPeer(const Peer& peer, const std::string& peers_dir, const PeerRun& run);

}  // namespace oncemq::bench
