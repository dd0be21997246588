// SPDX-License-Identifier: Apache-2.0
// What does a lock in memcached cost? Floor: the two raw commands of the simplest lock there is,
// add and delete, one connection, nothing checked. The server is a child process on loopback.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "lock_bench.h"
#include "oncemq/locks/memcached_locks.h"
#include "support/memcached_server.h"

namespace oncemq::bench {
namespace {

class Raw {
 public:
  explicit Raw(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Need(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
         "no connection");
  }
  ~Raw() { close(fd_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Pair() const {
    Say("add lock 0 30 16\r\n0123456789abcdef\r\n", "STORED\r\n");
    Say("delete lock\r\n", "DELETED\r\n");
  }

 private:
  void Say(std::string_view line, std::string_view answer) const {
    std::array<char, 64> said;
    Need(send(fd_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()) &&
             recv(fd_, said.data(), said.size(), 0) == static_cast<ssize_t>(answer.size()),
         "the raw pair failed");
  }

  const int fd_;
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::MemcachedServer::Missing()) {
    std::fprintf(stderr, "locks_memcached: %s\n", missing->c_str());
    return 1;
  }
  Report report("locks/memcached", argc, argv);
  const auto server = testing::MemcachedServer::Start();
  const auto open = [&] {
    auto locks = OpenMemcachedLocks(server->url(), {.max_connections = 64});
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const Raw raw(server->port());
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw = [&] { raw.Pair(); },
                .wake = [] { return 250.0; },  // what a wake takes in Redis
                .hand_offs = 100},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
