// SPDX-License-Identifier: Apache-2.0
#include "postgres_server.h"

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"
#include "plain_user.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kPostgresStarts{180};  // a disk that others use, too

// Debian has the programs of each version in a directory of their own; the newest one.
std::optional<std::filesystem::path> Programs() {
  std::optional<std::filesystem::path> best;
  long best_version = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    const std::filesystem::path bin = entry.path() / "bin";
    const long version = std::atol(entry.path().filename().c_str());
    if (version > best_version && std::filesystem::exists(bin / "initdb", error) &&
        std::filesystem::exists(bin / "postgres", error)) {
      best = bin;
      best_version = version;
    }
  }
  return best;
}

}  // namespace

std::optional<std::string> PostgresServer::Missing() {
  if (!Programs()) {
    return "there is no PostgreSQL: no /usr/lib/postgresql/*/bin/postgres (package postgresql)";
  }
  return MissingForPlainUser();
}

std::unique_ptr<PostgresServer> PostgresServer::Start(std::vector<std::string> settings) {
  if (const auto missing = Missing()) {
    throw std::runtime_error(*missing);
  }
  std::unique_ptr<PostgresServer> server(new PostgresServer(std::move(settings)));
  server->Initialise();
  server->Restart();
  return server;
}

PostgresServer::~PostgresServer() {
  if (process_) {
    Kill9();
  }
}

std::string PostgresServer::UrlAt(uint16_t port) {
  return "postgres://oncemq:secret@127.0.0.1:" + std::to_string(port) + "/postgres";
}

std::string PostgresServer::LogText() const {
  std::ostringstream text;
  text << std::ifstream(dir_.path() / "server.log").rdbuf();
  return text.str();
}

size_t PostgresServer::Logged(std::string_view words) const {
  const std::string text = LogText();
  size_t times = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    times++;
  }
  return times;
}

// It refuses to run as root.
void PostgresServer::Initialise() {
  GiveToPlainUser(dir_.path());
  const std::filesystem::path password = dir_.path() / "password";
  std::ofstream(password) << "secret\n";
  GiveToPlainUser(password);
  Process initdb(
      {.command = AsPlainUser({*Programs() / "initdb", "-D", dir_.path() / "data", "-U", "oncemq",
                               "-A", "scram-sha-256", "--pwfile", password, "-E", "UTF8",
                               "--locale=C", "--no-sync", "--no-instructions"}),
       .log_file = dir_.path() / "server.log"});
  if (initdb.Wait(kPostgresStarts) != 0) {
    throw std::runtime_error("initdb fails: " + LogText());
  }
}

void PostgresServer::Restart() {
  std::vector<std::string> command{*Programs() / "postgres",
                                   "-D",
                                   dir_.path() / "data",
                                   "-p",
                                   std::to_string(port_.number()),
                                   "-c",
                                   "listen_addresses=127.0.0.1",
                                   "-c",
                                   "unix_socket_directories=",
                                   "-c",
                                   "fsync=off",
                                   "-c",
                                   "shared_buffers=16MB",
                                   "-c",
                                   "max_connections=60"};
  for (const std::string& setting : settings_) {
    command.insert(command.end(), {"-c", setting});
  }
  // What is left of a server that was killed may keep its shared memory for a moment.
  const bool answers = Eventually(kPostgresStarts, [&] {
    if (!process_ || !process_->Running()) {
      process_ = std::make_unique<Process>(
          ProcessOptions{.command = AsPlainUser(command), .log_file = dir_.path() / "server.log"});
    }
    return Answers();
  });
  if (!answers) {
    throw std::runtime_error("PostgreSQL does not start: " + LogText());
  }
}

// All its memory goes to disk first.
void PostgresServer::Stop() {
  process_->Signal(SIGINT);
  process_->Wait(kPostgresStarts);
}

void PostgresServer::CopyData(const char* from, const char* to) {
  std::filesystem::remove_all(dir_.path() / to);
  Process copies({.command = {"cp", "-a", dir_.path() / from, dir_.path() / to}});
  if (copies.Wait(kPostgresStarts) != 0) {
    throw std::runtime_error("the data of PostgreSQL cannot be copied");
  }
}

void PostgresServer::BackUp() {
  Stop();
  CopyData("data", "backup");
  Restart();
}

void PostgresServer::GoBack() {
  Kill9();
  CopyData("backup", "data");
  Restart();
}

bool PostgresServer::Answers() const {
  Process asks({.command = {*Programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
                            std::to_string(port_.number()), "-t", "5"}});
  return asks.Wait(std::chrono::seconds(10)) == 0;
}

// Each connection is a process, which does not stop or die with the first one.
std::vector<pid_t> PostgresServer::SignalChildren(int number) {
  const std::string pid = std::to_string(process_->pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> signalled;
  for (pid_t child = 0; children >> child;) {
    kill(child, number);
    signalled.push_back(child);
  }
  return signalled;
}

void PostgresServer::Kill9() {
  process_->Pause();  // it can't begin another one, nor take note of an end
  for (const pid_t child : SignalChildren(SIGKILL)) {
    // Its connection is closed when it is dead, and not before.
    Eventually(kPostgresStarts, [child] {
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::string line;
      std::getline(stat, line);
      const size_t state = line.rfind(") ");
      return state == std::string::npos || line[state + 2] == 'Z' || line[state + 2] == 'X';
    });
  }
  process_->Kill9();
}

void PostgresServer::Pause() {
  process_->Pause();
  SignalChildren(SIGSTOP);
}

void PostgresServer::Continue() {
  SignalChildren(SIGCONT);
  process_->Continue();
}

}  // namespace oncemq::testing
