// SPDX-License-Identifier: Apache-2.0
#include "scripted_redis.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "relay_listener.h"

namespace oncemq::testing {
namespace {

constexpr int kNoticesItsEndMs = 20;

bool HasArrived(int fd) {
  pollfd waits{fd, POLLIN, 0};
  return poll(&waits, 1, kNoticesItsEndMs) > 0;
}

// The first command of `said`, which goes from there; nothing while it is not whole.
std::optional<std::vector<std::string>> TakeCommand(std::string& said) {
  size_t at = 0;
  const auto number = [&](char kind) -> std::optional<size_t> {
    const size_t end = said.find("\r\n", at);
    if (end == std::string::npos || said[at] != kind) {
      return std::nullopt;
    }
    const size_t value = std::stoul(said.substr(at + 1, end - at - 1));
    at = end + 2;
    return value;
  };
  const auto count = number('*');
  std::vector<std::string> words;
  for (size_t i = 0; count && i < *count; i++) {
    const auto length = number('$');
    if (!length || said.size() < at + *length + 2) {
      return std::nullopt;
    }
    words.push_back(said.substr(at, *length));
    at += *length + 2;
  }
  if (words.empty()) {
    return std::nullopt;
  }
  said.erase(0, at);
  return words;
}

}  // namespace

ScriptedRedis::ScriptedRedis(Says says) : says_(std::move(says)) {
  if (listen(port_.fd(), 64) != 0) {
    throw std::runtime_error("cannot listen");
  }
  accepts_ = std::thread([this] {
    while (!ends_) {
      if (HasArrived(port_.fd())) {
        const int connection = accept4(port_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
        connections_.emplace_back([this, connection] { Serve(connection); });
      }
    }
  });
}

ScriptedRedis::~ScriptedRedis() {
  ends_ = true;
  accepts_.join();
  connections_.clear();
}

std::string ScriptedRedis::Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

void ScriptedRedis::Serve(int connection) {
  std::string said;
  std::array<char, 4096> piece{};
  while (!ends_) {
    if (!HasArrived(connection)) {
      continue;
    }
    const ssize_t length = recv(connection, piece.data(), piece.size(), 0);
    if (length <= 0) {
      break;
    }
    said.append(piece.data(), static_cast<size_t>(length));
    while (const auto words = TakeCommand(said)) {
      if (!SendAll(connection, says_(*words))) {
        break;
      }
    }
  }
  close(connection);
}

}  // namespace oncemq::testing
