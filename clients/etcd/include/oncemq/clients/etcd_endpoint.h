// SPDX-License-Identifier: Apache-2.0
// EtcdEndpoint: where an etcd is, and who we are there.
//
//   etcd://[user[:password]@]host[:port][,host[:port]...]
//
// The hosts are members of one cluster; without a port it is 2379. User and password may be
// percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq {

struct EtcdHost {
  std::string host;
  uint16_t port = 2379;
};

struct EtcdEndpoint {
  std::vector<EtcdHost> hosts;
  std::string user;  // empty: nobody in particular
  std::string password;
};

// Failures: kInvalid, which never repeats the password.
Result<EtcdEndpoint> ParseEtcdEndpoint(std::string_view url);
// For people: without user and password.
std::string ToString(const EtcdEndpoint& endpoint);

}  // namespace oncemq
