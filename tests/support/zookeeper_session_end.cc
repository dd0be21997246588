// SPDX-License-Identifier: Apache-2.0
// The server makes the password of a session of its number and a constant, so anybody can take it
// over and close it.
#include "zookeeper_session_end.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace oncemq::testing {
namespace {

constexpr uint64_t kSecretOfAllServers = 0xB341'5C00;
constexpr size_t kPassword = 16;
constexpr uint64_t kCloseSession = static_cast<uint32_t>(-11);

std::string BigEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i-- > 0;) {
    text.push_back(static_cast<char>(number >> (8 * i)));
  }
  return text;
}

uint64_t FromBigEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

// As java.util.Random fills bytes.
std::string PasswordOf(uint64_t id) {
  constexpr uint64_t kFactor = 0x5'DEEC'E66D;
  constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  uint64_t seed = (id ^ kSecretOfAllServers ^ kFactor) & kMask;
  std::string password;
  while (password.size() < kPassword) {
    seed = (seed * kFactor + 0xB) & kMask;
    for (int byte = 0; byte < 4; byte++) {
      password.push_back(static_cast<char>(seed >> (16 + 8 * byte)));
    }
  }
  return password;
}

bool Send(int fd, const std::string& packet) {
  const std::string framed = BigEndian(packet.size(), 4) + packet;
  return send(fd, framed.data(), framed.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(framed.size());
}

std::optional<std::string> Receive(int fd) {
  std::string length(4, '\0');
  if (recv(fd, length.data(), length.size(), MSG_WAITALL) != 4) {
    return std::nullopt;
  }
  std::string packet(FromBigEndian(length) & 0xFFFF, '\0');
  const ssize_t got = recv(fd, packet.data(), packet.size(), MSG_WAITALL);
  return got == static_cast<ssize_t>(packet.size()) ? std::optional(packet) : std::nullopt;
}

bool TakeOverAndClose(int fd, uint64_t id) {
  constexpr uint64_t kTimeout = 10'000;
  // Version of the protocol, last transaction seen, timeout, session, password, read-only.
  if (!Send(fd, BigEndian(0, 4) + BigEndian(0, 8) + BigEndian(kTimeout, 4) + BigEndian(id, 8) +
                    BigEndian(kPassword, 4) + PasswordOf(id) + BigEndian(0, 1))) {
    return false;
  }
  const auto taken = Receive(fd);
  if (!taken || taken->size() < 16) {
    return false;
  }
  if (FromBigEndian(taken->substr(4, 4)) == 0) {
    return true;  // it has ended before
  }
  return Send(fd, BigEndian(1, 4) + BigEndian(kCloseSession, 4)) && Receive(fd).has_value();
}

}  // namespace

bool EndZooKeeperSession(uint16_t port, uint64_t id, std::chrono::seconds patience) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{patience.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const bool ended =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      TakeOverAndClose(fd, id);
  close(fd);
  return ended;
}

}  // namespace oncemq::testing
