// SPDX-License-Identifier: Apache-2.0
#include "scripted_etcd.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace oncemq::testing {
namespace {

constexpr int kPollEveryMs = 20;
constexpr int kDrips = 600;

bool Readable(int fd) {
  pollfd waits{fd, POLLIN, 0};
  return poll(&waits, 1, kPollEveryMs) > 0;
}

void Send(int connection, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t some = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) {
      return;
    }
    sent += static_cast<size_t>(some);
  }
}

}  // namespace

ScriptedEtcd::ScriptedEtcd(Says says) : says_(std::move(says)) {
  listens_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listens_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listens_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listens_, 64) != 0) {
    close(listens_);
    throw std::runtime_error("cannot listen");
  }
  accepts_ = std::thread([this] {
    while (!ends_) {
      if (Readable(listens_)) {
        const int connection = accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
        connections_.emplace_back([this, connection] { Serve(connection); });
      }
    }
  });
}

ScriptedEtcd::~ScriptedEtcd() {
  ends_ = true;
  accepts_.join();
  connections_.clear();
  close(listens_);
}

void ScriptedEtcd::Serve(int connection) {
  std::string said;
  std::array<char, 4096> piece{};
  while (!ends_) {
    if (!Readable(connection)) {
      continue;
    }
    const ssize_t length = recv(connection, piece.data(), piece.size(), 0);
    if (length <= 0) {
      break;
    }
    said.append(piece.data(), static_cast<size_t>(length));
    const size_t head = said.find("\r\n\r\n");
    const size_t at = said.find("Content-Length: ");
    if (head == std::string::npos || at == std::string::npos) {
      continue;
    }
    const size_t body = std::stoul(said.substr(at + 16));
    if (said.size() >= head + 4 + body) {
      const size_t path = said.find(' ') + 1;
      Answer(connection,
             says_(said.substr(path, said.find(' ', path) - path), said.substr(head + 4, body)));
      said.clear();
    }
  }
  close(connection);
}

void ScriptedEtcd::Answer(int connection, const std::string& json) {
  Send(connection, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
  if (drips_) {
    Send(connection, "X: ");
  }
  for (int i = 0; i < kDrips && drips_ && !ends_ && !Readable(connection); i++) {
    Send(connection, "x");
  }
  Send(connection, "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json);
}

std::string ScriptedEtcd::Header(int64_t revision, int term) {
  return R"("header":{"cluster_id":"1","member_id":"1","revision":")" + std::to_string(revision) +
         R"(","raft_term":")" + std::to_string(term) + "\"}";
}

}  // namespace oncemq::testing
