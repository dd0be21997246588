// SPDX-License-Identifier: Apache-2.0
// A real memcached as a child process, on a free port of 127.0.0.1.
#pragma once

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
class MemcachedServer {
 public:
  // Why no memcached can be started here; nothing when one can.
  static std::optional<std::string> Missing();

  // `arguments` as of the program's command line: {"-M"}, one that evicts nothing.
  static std::unique_ptr<MemcachedServer> Start(std::vector<std::string> arguments = {"-M"});

  uint16_t port() const { return port_.number(); }
  std::string url() const { return "memcached://" + port_.address(); }
  Process& process() { return *process_; }

  void Kill9() { process_->Kill9(); }
  // On the same port, empty.
  void Restart();
  // What it says to one line, or to a line and a value; the beginning of it.
  std::string Say(const std::string& line) const;

 private:
  explicit MemcachedServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  const std::vector<std::string> arguments_;
  const TempDir dir_;
  const LoopbackPort port_;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_MEMCACHED() \
  ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::MemcachedServer::Missing())
