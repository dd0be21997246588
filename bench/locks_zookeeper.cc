// SPDX-License-Identifier: Apache-2.0
// What does a lock in ZooKeeper cost? Floor: what the recipe needs of the plain C client, one call
// at a time: create an ephemeral sequential node, list its siblings, delete it; of a hand-off, to
// delete a node, and the list of one who watched it. The server is a child process on loopback that
// does not wait for its disk.
#include <zookeeper/zookeeper.h>

#include <array>
#include <atomic>

#include "lock_bench.h"
#include "lock_peer.h"
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
  }
  ~Raw() { zookeeper_close(handle); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Make(const std::string& parent) const {
    const int made =
        zoo_create(handle, parent.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
    Need(made == ZOK || made == ZNODEEXISTS, "no raw node");
  }
  std::string Create(const std::string& parent) const {
    std::array<char, 64> path{};
    Need(zoo_create(handle, (parent + "/x-").c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                    ZOO_EPHEMERAL_SEQUENTIAL, path.data(), path.size()) == ZOK,
         "the raw create failed");
    return path.data();
  }
  void List(const std::string& parent) const {
    String_vector children{};
    Need(zoo_get_children(handle, parent.c_str(), 0, &children) == ZOK && children.count == 1,
         "the raw list failed");
    deallocate_String_vector(&children);
  }
  void Delete(const std::string& path) const {
    Need(zoo_delete(handle, path.c_str(), -1) == ZOK, "the raw delete failed");
  }
};

double RawHandOff(const Raw& holder, const Raw& waiter) {
  const std::string ahead = holder.Create("/handed");
  const std::string mine = waiter.Create("/handed");
  static std::atomic<bool> told;  // outlives the watch
  told = false;
  const auto watch = [](zhandle_t*, int type, int, const char*, void* context) {
    if (type == ZOO_DELETED_EVENT) {
      auto* heard = static_cast<std::atomic<bool>*>(context);
      *heard = true;
      heard->notify_all();
    }
  };
  Need(zoo_wexists(waiter.handle, ahead.c_str(), watch, &told, nullptr) == ZOK, "no raw watch");
  double got = 0;
  std::jthread waits([&] {
    told.wait(false);
    waiter.List("/handed");
    got = WallSeconds();
  });
  const double begin = WallSeconds();
  holder.Delete(ahead);
  waits.join();
  waiter.Delete(mine);
  return (got - begin) * 1e6;
}

const Peer kCurator{.name = "curator", .folder = "curator"};

int Main(int argc, char** argv) {
  if (const auto missing = testing::ZooKeeperServer::Missing()) {
    std::fprintf(stderr, "locks_zookeeper: %s\n", missing->c_str());
    return 1;
  }
  const auto peers_dir = PeersDir(kCurator, argc, argv);
  Report report("locks/zookeeper", argc, argv);
  const auto server = testing::ZooKeeperServer::Start();
  const auto open = [&] {
    auto locks = OpenZooKeeperLocks(server->url());
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const Raw holder(server->port());
  const Raw waiter(server->port());
  holder.Make("/handed");
  const auto raw = [&](size_t thread) {
    const std::string parent = "/raw" + std::to_string(thread);
    holder.Make(parent);
    return [&, parent] {
      const std::string path = holder.Create(parent);
      holder.List(parent);
      holder.Delete(path);
    };
  };
  const LockSubject subject{.name = {},
                            .one = *one,
                            .two = *two,
                            .raw = raw,
                            .raw_hand_off = [&] { return RawHandOff(holder, waiter); },
                            .pairs = 300};
  MeasureLocks(subject, report);
  if (peers_dir) {
    LockPeer peer(kCurator, *peers_dir, "127.0.0.1:" + std::to_string(server->port()));
    const auto requests = [&] {
      return static_cast<double>(server->Number("zk_packets_received"));
    };
    MeasureBesidePeer({.subject = subject, .peer = peer, .requests = requests}, report);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  try {
    return oncemq::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // the server and its data go before we do
    std::fprintf(stderr, "locks_zookeeper: %s\n", error.what());
    return 1;
  }
}
