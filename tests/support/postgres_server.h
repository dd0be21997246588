// SPDX-License-Identifier: Apache-2.0
// A real PostgreSQL as a child process, on a free port of 127.0.0.1, its data in a temporary
// directory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
class PostgresServer {
 public:
  // Why no PostgreSQL can be started here; nothing when one can.
  static std::optional<std::string> Missing();

  // `settings` as of its configuration: "max_connections=5". The user is oncemq, who may do
  // everything, with the password "secret".
  static std::unique_ptr<PostgresServer> Start(std::vector<std::string> settings = {});
  ~PostgresServer();

  uint16_t port() const { return port_.number(); }
  std::string url() const { return UrlAt(port_.number()); }
  // The same by another way, as a proxy.
  static std::string UrlAt(uint16_t port);

  // How often its log has these words.
  size_t Logged(std::string_view words) const;
  // With all the processes that it has made.
  void Kill9();
  void Pause();
  void Continue();
  // On the same port, with the data that are on disk.
  void Restart();
  // A copy of the data as they are; the server is down meanwhile, and is up again after it.
  void BackUp();
  // Goes back to that copy: everything since is lost.
  void GoBack();

 private:
  explicit PostgresServer(std::vector<std::string> settings) : settings_(std::move(settings)) {}
  void Initialise();
  bool Answers() const;
  std::string LogText() const;
  std::vector<pid_t> SignalChildren(int number);

  void CopyData(const char* from, const char* to);
  void Stop();

  const std::vector<std::string> settings_;
  const TempDir dir_{TempDir::Quick()};  // a disk that others use is slow
  const LoopbackPort port_;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_POSTGRES() \
  ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::PostgresServer::Missing())
