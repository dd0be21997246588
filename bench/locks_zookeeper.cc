// SPDX-License-Identifier: Apache-2.0
// What does a lock in ZooKeeper cost? Floor: what the recipe needs of the plain C client, one call
// at a time: create an ephemeral sequential node, list its siblings, delete it. The server is a
// child process on loopback that does not wait for its disk.
#include <zookeeper/zookeeper.h>

#include <array>
#include <atomic>

#include "lock_bench.h"
#include "oncemq/locks/zookeeper_locks.h"
#include "support/zookeeper_server.h"

namespace oncemq::bench {
namespace {

struct Raw {
  zhandle_t* handle;
  std::atomic<bool> connected{false};

  explicit Raw(uint16_t port) {
    const std::string host = "127.0.0.1:" + std::to_string(port);
    const auto watch = [](zhandle_t*, int, int state, const char*, void* context) {
      auto* raw = static_cast<Raw*>(context);
      raw->connected = state == ZOO_CONNECTED_STATE;
      raw->connected.notify_all();
    };
    handle = zookeeper_init2(host.c_str(), watch, 40'000, nullptr, this, 0, [](const char*) {});
    connected.wait(false);
    Need(zoo_create(handle, "/raw", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0) == ZOK,
         "no raw node");
  }
  ~Raw() { zookeeper_close(handle); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Pair() const {
    std::array<char, 64> path{};
    String_vector children{};
    Need(zoo_create(handle, "/raw/x-", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                    path.data(), path.size()) == ZOK &&
             zoo_get_children(handle, "/raw", 0, &children) == ZOK && children.count == 1 &&
             zoo_delete(handle, path.data(), -1) == ZOK,
         "the raw pair failed");
    deallocate_String_vector(&children);
  }
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::ZooKeeperServer::Missing()) {
    std::fprintf(stderr, "locks_zookeeper: %s\n", missing->c_str());
    return 1;
  }
  Report report("locks/zookeeper", argc, argv);
  const auto server = testing::ZooKeeperServer::Start();
  const auto open = [&] {
    auto locks = OpenZooKeeperLocks(server->url());
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
                .wake = [] { return 2'000.0; },  // wanted
                .pairs = 300},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
