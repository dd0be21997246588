// SPDX-License-Identifier: Apache-2.0
#include "redis_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kRedisStarts{20};

// Debian's package of the tools brings the very program of the server, without one that begins to
// run when it is installed. What it does is decided by the name that it is called by.
std::optional<std::filesystem::path> Program() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"redis-server", "redis-check-rdb"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::filesystem::path program = std::filesystem::path(folder) / name;
      if (access(program.c_str(), X_OK) == 0) {
        return program;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> RedisServer::Missing() {
  if (!Program()) {
    return "there is no Redis: neither redis-server nor redis-check-rdb (package redis-tools)";
  }
  return std::nullopt;
}

std::unique_ptr<RedisServer> RedisServer::Start(std::vector<std::string> arguments, bool sentinel) {
  std::unique_ptr<RedisServer> server(new RedisServer(std::move(arguments), sentinel));
  server->Restart();
  return server;
}

void RedisServer::Restart() {
  const auto program = Program();
  if (!program) {
    throw std::runtime_error(*Missing());
  }
  const std::filesystem::path called = dir_.path() / "redis-server";
  if (!std::filesystem::exists(called)) {
    std::filesystem::create_symlink(*program, called);
  }
  std::vector<std::string> command = {called};
  if (sentinel_) {
    // A sentinel writes into its file what it learns.
    const std::filesystem::path file = dir_.path() / "sentinel.conf";
    std::ofstream(file, std::ios::app).flush();
    command.push_back(file);
    command.emplace_back("--sentinel");
  }
  for (const std::string& argument :
       {std::string("--port"), std::to_string(port_.number()), std::string("--bind"),
        std::string("127.0.0.1"), std::string("--dir"), dir_.path().string(),
        std::string("--logfile"), std::string("")}) {
    command.push_back(argument);
  }
  if (!sentinel_) {
    command.insert(command.end(), {"--save", ""});
  }
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  const std::filesystem::path log = dir_.path() / "server.log";
  process_ = std::make_unique<Process>(ProcessOptions{.command = command, .log_file = log});
  if (!Eventually(kRedisStarts, [this] { return !process_->Running() || Answers(); }) ||
      !process_->Running()) {
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    throw std::runtime_error("Redis does not start: " + text.str());
  }
}

// Any word of it will do, as it may want a password, but that it is not ready yet.
bool RedisServer::Answers() const {
  const std::string said = Say("PING");
  return !said.empty() && !said.starts_with("-LOADING");
}

void RedisServer::Promote() {
  if (!Say("REPLICAOF NO ONE").starts_with("+OK")) {
    throw std::runtime_error("Redis does not become a master");
  }
}

void RedisServer::LoseTail(uintmax_t bytes) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".incr.aof") || name == "appendonly.aof") {
      newest = std::max(newest, entry.path());
    }
  }
  if (newest.empty()) {
    throw std::runtime_error("Redis has no append-only file");
  }
  const uintmax_t size = std::filesystem::file_size(newest);
  std::filesystem::resize_file(newest, size - std::min(size, bytes));
}

std::string RedisServer::Say(const std::string& line) const {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kRedisStarts.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string sent = line + "\r\n";
  std::array<char, 64> said{};
  ssize_t length = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size())) {
    length = read(fd, said.data(), said.size());
  }
  close(fd);
  return {said.data(), static_cast<size_t>(std::max<ssize_t>(0, length))};
}

}  // namespace oncemq::testing
