// SPDX-License-Identifier: Apache-2.0
// A real Redis as a child process, on a free port of 127.0.0.1, its data in a temporary directory.
#pragma once

#include <chrono>
#include <cstdint>
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
class RedisServer {
 public:
  // Why no Redis can be started here; nothing when one can.
  static std::optional<std::string> Missing();

  // `arguments` as of the program's command line: {"--requirepass", "x"}. With `sentinel` it is
  // one.
  static std::unique_ptr<RedisServer> Start(std::vector<std::string> arguments = {},
                                            bool sentinel = false);

  uint16_t port() const { return port_.number(); }
  std::string url() const { return "redis://" + port_.address(); }
  Process& process() { return *process_; }

  void Kill9() { process_->Kill9(); }
  // A replica becomes a master, as a sentinel or an operator would have it.
  void Promote();
  // The first 64 bytes of its answer to a line of words; also of a replica and a sentinel.
  std::string Say(const std::string& line) const;
  // While it is down: its append-only file ends so many bytes earlier, as after a power loss.
  void LoseTail(uintmax_t bytes);
  // On the same port, with the data that are on disk: none, unless the arguments say otherwise.
  void Restart();

 private:
  RedisServer(std::vector<std::string> arguments, bool sentinel)
      : arguments_(std::move(arguments)), sentinel_(sentinel) {}
  bool Answers() const;

  const std::vector<std::string> arguments_;
  const bool sentinel_;
  const TempDir dir_;
  const LoopbackPort port_;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_REDIS() ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::RedisServer::Missing())
