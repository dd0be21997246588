// SPDX-License-Identifier: Apache-2.0
// What does a lock in memcached cost? Floor: the two raw commands of the simplest lock there is,
// add and delete, one connection, nothing checked; of a hand-off, delete and the add of one that
// asks without a pause. The server is a child process on loopback.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
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
  bool Take(const std::string& name) const {
    const std::string_view answer = Say("add " + name + " 0 30 16\r\n0123456789abcdef\r\n");
    Need(answer == "STORED\r\n" || answer == "NOT_STORED\r\n", "the raw add failed");
    return answer == "STORED\r\n";
  }
  void Give(const std::string& name) const {
    Need(Say("delete " + name + "\r\n") == "DELETED\r\n", "the raw delete failed");
  }

 private:
  // Its answer comes in one piece, and is good until the next one.
  std::string_view Say(const std::string& line) const {
    Need(send(fd_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()), "not sent");
    const ssize_t had = recv(fd_, said_.data(), said_.size(), 0);
    Need(had > 0, "no answer");
    return {said_.data(), static_cast<size_t>(had)};
  }

  mutable std::array<char, 64> said_{};

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
  const Raw holder(server->port());
  const Raw waiter(server->port());
  const auto hand_off = [&] {
    Need(holder.Take("handed"), "the raw name was taken");
    const double took =
        SpunHandOff([&] { return waiter.Take("handed"); }, [&] { holder.Give("handed"); });
    waiter.Give("handed");
    return took;
  };
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw =
                    [&](size_t thread) {
                      return [raw = std::make_shared<Raw>(server->port()),
                              name = "lock" + std::to_string(thread)] {
                        Need(raw->Take(name), "the raw name was taken");
                        raw->Give(name);
                      };
                    },
                .raw_hand_off = hand_off,
                .hand_offs = 100},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
