// SPDX-License-Identifier: Apache-2.0
// The window in Redis under the conformance suite: one server, a scope for each test, and a clock
// that is a key, so that no test sleeps through a lease.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/conformance/window_conformance.h"
#include "redis/redis_owned_window.h"
#include "redis/redis_window_engine.h"
#include "support/redis_server.h"

namespace oncemq::testing {

struct RedisWindowEndpoint {
  std::string address;  // of the windows
  std::string plain;    // of the same server
};

// Thread safety: one thread.
class RedisWindowSuite {
 public:
  // `scopes` begins their names.
  RedisWindowSuite(std::function<RedisWindowEndpoint()> start, bool partition_owned,
                   std::string scopes)
      : start_(std::move(start)),
        partition_owned_(partition_owned),
        scope_names_(std::move(scopes)) {}

  Result<std::unique_ptr<Window>> OpenNew(const ConformanceSetup& setup) {
    scopes_++;
    return OpenAgain(setup);
  }
  Result<std::unique_ptr<Window>> OpenAgain(const ConformanceSetup& setup) {
    Start();
    RedisWindowOptions options;
    options.scope = scope_names_ + std::to_string(scopes_);
    options.level = setup.level;
    options.times = setup.times;
    options.remember = setup.remember;
    options.skew = milliseconds(0);
    options.connect = options.call = milliseconds(10'000);
    options.partition_owned = partition_owned_;
    constexpr std::string_view kClock = "tonumber(redis.call('GET', 'test_clock'))";
    return partition_owned_
               ? AsWindow(RedisOwnedWindow::OpenAt(endpoint_.address, options, kClock, leases_))
               : AsWindow(RedisWindow::OpenAt(endpoint_.address, options, kClock));
  }
  void Advance(milliseconds by) {
    leases_.Advance(by);
    const std::string micros = std::to_string(microseconds(by).count());
    EXPECT_TRUE(client_->Run(RedisCommand{"INCRBY", "test_clock", micros}));
  }

 private:
  template <class Engine>
  static Result<std::unique_ptr<Window>> AsWindow(Result<std::unique_ptr<Engine>> opened) {
    return opened ? Result<std::unique_ptr<Window>>(*std::move(opened)) : opened.error();
  }
  void Start() {
    if (client_ == nullptr) {
      endpoint_ = start_();
      client_ = *RedisClient::Open(*ParseRedisEndpoint(endpoint_.plain));
      EXPECT_TRUE(client_->Run(RedisCommand{"SET", "test_clock", "1700000000000000", "NX"}));
    }
  }

  const std::function<RedisWindowEndpoint()> start_;
  RedisWindowEndpoint endpoint_;
  std::unique_ptr<RedisClient> client_;
  const bool partition_owned_;
  const std::string scope_names_;
  ManualClock leases_;  // where its owner judges them
  int scopes_ = 0;
};

// `start` is called by the first test. Without a server no test is registered: the program's
// AServerIsThere says so.
inline bool RegisterRedisWindow(const std::string& name, std::function<RedisWindowEndpoint()> start,
                                bool partition_owned = false) {
  const auto suite = std::make_shared<RedisWindowSuite>(std::move(start), partition_owned,
                                                        partition_owned ? "owned/" : "test/");
  const auto advance = [suite](milliseconds by) { suite->Advance(by); };
  return !RedisServer::Missing() &&
         RegisterWindowConformance({
             .name = name,
             .capabilities = RedisWindowCapabilities(partition_owned),
             .open = [suite](const ConformanceSetup& setup) { return suite->OpenNew(setup); },
             .reopen = [suite](const ConformanceSetup& setup) { return suite->OpenAgain(setup); },
             .advance = advance,
             .judges = !partition_owned,
         });
}

}  // namespace oncemq::testing
