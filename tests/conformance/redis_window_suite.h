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
#include "redis/redis_window_engine.h"
#include "support/redis_server.h"

namespace oncemq::testing {

struct RedisWindowPlace {
  std::string address;  // of the windows
  std::string plain;    // of the same server
};

// Thread safety: one thread.
class RedisWindowSuite {
 public:
  explicit RedisWindowSuite(std::function<RedisWindowPlace()> start) : start_(std::move(start)) {}

  Result<std::unique_ptr<Window>> OpenNew(const ConformanceSetup& setup) {
    scopes_++;
    return OpenAgain(setup);
  }
  Result<std::unique_ptr<Window>> OpenAgain(const ConformanceSetup& setup) {
    Start();
    RedisWindowOptions options;
    options.scope = "test/" + std::to_string(scopes_);
    options.level = setup.level;
    options.times = setup.times;
    options.remember = setup.remember;
    options.skew = milliseconds(0);
    options.connect = options.call = milliseconds(10'000);
    auto window =
        RedisWindow::OpenAt(place_.address, options, "tonumber(redis.call('GET', 'test_clock'))");
    if (!window) {
      return window.error();
    }
    return std::unique_ptr<Window>(*std::move(window));
  }
  void Advance(milliseconds by) {
    const std::string micros = std::to_string(microseconds(by).count());
    EXPECT_TRUE(client_->Run(RedisCommand{"INCRBY", "test_clock", micros}));
  }

 private:
  void Start() {
    if (client_ == nullptr) {
      place_ = start_();
      client_ = *RedisClient::Open(*ParseRedisPlace(place_.plain));
      EXPECT_TRUE(client_->Run(RedisCommand{"SET", "test_clock", "1700000000000000"}));
    }
  }

  const std::function<RedisWindowPlace()> start_;
  RedisWindowPlace place_;
  std::unique_ptr<RedisClient> client_;
  int scopes_ = 0;
};

// `start` is called by the first test. Without a server no test is registered: the program's
// AServerIsThere says so.
inline bool RegisterRedisWindow(const std::string& name, std::function<RedisWindowPlace()> start) {
  const auto suite = std::make_shared<RedisWindowSuite>(std::move(start));
  const auto advance = [suite](milliseconds by) { suite->Advance(by); };
  return !RedisServer::Missing() &&
         RegisterWindowConformance({
             .name = name,
             .capabilities = RedisWindowCapabilities(),
             .open = [suite](const ConformanceSetup& setup) { return suite->OpenNew(setup); },
             .reopen = [suite](const ConformanceSetup& setup) { return suite->OpenAgain(setup); },
             .advance = advance,
         });
}

}  // namespace oncemq::testing
