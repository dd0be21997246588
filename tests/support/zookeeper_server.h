// SPDX-License-Identifier: Apache-2.0
// A real ZooKeeper as a child process, on a free port of 127.0.0.1, its data in a temporary
// directory; or several. Its tick is short, so that sessions can end within a test.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loopback_port.h"
#include "process.h"
#include "require_backend.h"
#include "temp_dir.h"

namespace oncemq::testing {

// Every call that can fail throws std::runtime_error, with the end of the server's log.
//
// Thread safety: one thread at a time, and start it from a thread that stays (see Process).
// Blocks: Start and Restart, bounded.
class ZooKeeperServer {
 public:
  // Why no ZooKeeper can be started here; nothing when one can.
  static std::optional<std::string> Missing();
  static std::unique_ptr<ZooKeeperServer> Start();
  // So many that vote.
  static std::vector<std::unique_ptr<ZooKeeperServer>> StartEnsemble(size_t count);

  uint16_t port() const { return port_.number(); }
  std::string url() const { return "zookeeper://" + port_.address(); }
  Process& process() { return *process_; }

  void Kill9() { process_->Kill9(); }
  // On the same port, with all that was there; sessions go on. Who connects before the server has
  // its data may be left without an answer, on a connection that stays: a client would wait there.
  void Restart();
  bool Leads() const;
  // What it answers to one of its words of four letters: "mntr".
  std::string Say(const std::string& word) const { return Say(word, std::chrono::seconds(20)); }
  // Lines as they are typed into its own client, by nobody in particular. What it answers.
  std::string Shell(const std::vector<std::string>& lines) const;
  // A number out of "mntr": Number("zk_watch_count").
  long Number(const std::string& name) const;

 private:
  ZooKeeperServer() = default;
  void Launch();
  void AwaitService();
  std::string Say(const std::string& word, std::chrono::milliseconds patience) const;

  const TempDir dir_{TempDir::Quick()};  // a disk that others use is slow
  const LoopbackPort port_;
  const LoopbackPort to_followers_;
  const LoopbackPort elections_;
  std::string members_;  // of the ensemble, for the file; empty: it is alone
  size_t id_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_ZOOKEEPER() \
  ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::ZooKeeperServer::Missing())
