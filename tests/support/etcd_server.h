// SPDX-License-Identifier: Apache-2.0
// A real etcd as a child process, on free ports of 127.0.0.1, its data in a temporary directory.
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

// A cluster of one, or a member of one that EtcdCluster starts. Every call that can fail throws
// std::runtime_error, with the end of the server's log.
//
// Thread safety: one thread at a time, and start it from a thread that stays (see Process).
// Blocks: Start and Restart, bounded.
class EtcdServer {
 public:
  // Why no etcd can be started here; nothing when one can.
  static std::optional<std::string> Missing();

  static std::unique_ptr<EtcdServer> Start(std::vector<std::string> arguments = {});
  // So many members of one cluster.
  static std::vector<std::unique_ptr<EtcdServer>> StartCluster(size_t members);

  uint16_t port() const { return port_.number(); }
  std::string url() const { return "etcd://" + port_.address(); }
  Process& process() { return *process_; }

  void Kill9() { process_->Kill9(); }
  // On the same port, with the data that it has.
  void Restart();
  // What it answers to a question in JSON at a path of its gateway, with the head of the answer.
  std::string Request(const std::string& path, const std::string& json) const;
  // From now on the user `root` with this password only.
  void RequirePassword(const std::string& password);
  // What it has now, and has again later: the server stops for it, and starts again.
  void Save();
  void Restore();

 private:
  EtcdServer(std::vector<std::string> arguments, std::string name)
      : arguments_(std::move(arguments)), name_(std::move(name)) {}
  std::string peer() const { return name_ + "=http://" + peer_.address(); }
  void Run();
  void UntilItServes();
  bool Answers() const;
  std::string Say(const std::string& request) const;

  const std::vector<std::string> arguments_;
  const std::string name_;
  const TempDir dir_{TempDir::Quick()};  // not to wait for a disk
  const LoopbackPort port_;
  const LoopbackPort peer_;
  std::string cluster_;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_ETCD() ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::EtcdServer::Missing())
