// SPDX-License-Identifier: Apache-2.0
#include "memcached_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kMemcachedStarts{20};

bool ThereIs(const char* name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / name).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> MemcachedServer::Missing() {
  if (!ThereIs("memcached")) {
    return "there is no memcached (package memcached)";
  }
  return std::nullopt;
}

std::unique_ptr<MemcachedServer> MemcachedServer::Start(std::vector<std::string> arguments) {
  std::unique_ptr<MemcachedServer> server(new MemcachedServer(std::move(arguments)));
  server->Restart();
  return server;
}

void MemcachedServer::Restart() {
  std::vector<std::string> command = {
      "memcached", "-l", "127.0.0.1", "-p",    std::to_string(port_.number()),
      "-U",        "0",  "-u",        "nobody"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  const std::filesystem::path log = dir_.path() / "server.log";
  process_ = std::make_unique<Process>(ProcessOptions{.command = command, .log_file = log});
  const auto answers = [this] { return Say("version").starts_with("VERSION"); };
  if (!Eventually(kMemcachedStarts, [&] { return !process_->Running() || answers(); }) ||
      !process_->Running()) {
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    throw std::runtime_error("memcached does not start: " + text.str());
  }
}

std::string MemcachedServer::Say(const std::string& line) const {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kMemcachedStarts.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string sent = line + "\r\n";
  std::array<char, 1024> said{};
  ssize_t length = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size())) {
    length = read(fd, said.data(), said.size());
  }
  close(fd);
  return {said.data(), static_cast<size_t>(std::max<ssize_t>(0, length))};
}

}  // namespace oncemq::testing
