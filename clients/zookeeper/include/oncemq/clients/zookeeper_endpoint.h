// SPDX-License-Identifier: Apache-2.0
// ZooKeeperEndpoint: where an ensemble of ZooKeeper is, and who we are there.
//
//   zookeeper://[user:password@]host[:port][,host[:port]...][/chroot]
//
// User, password and chroot may be percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq {

struct ZooKeeperHost {
  std::string host;
  uint16_t port = 2181;
};

struct ZooKeeperEndpoint {
  std::vector<ZooKeeperHost> hosts;
  std::string chroot;    // "/a/b": what is called "/" here; empty: the server's own
  std::string user;      // of the scheme "digest"; empty: nobody in particular
  std::string password;  // with a user only
};

// Failures: kInvalid, which never repeats the password.
Result<ZooKeeperEndpoint> ParseZooKeeperEndpoint(std::string_view url);
// For people: without user and password.
std::string ToString(const ZooKeeperEndpoint& endpoint);

}  // namespace oncemq
