// SPDX-License-Identifier: Apache-2.0
// A database for tests that ask the same of each: its server, and ways into it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "oncemq/clients/sql_client.h"
#include "oncemq/locks/lock_engine.h"
#include "sql/sql_locks.h"
#include "sql/sql_store.h"

namespace oncemq::testing {

inline constexpr std::chrono::seconds kPatience{60};

class SqlWorld {
 public:
  virtual ~SqlWorld() = default;
  virtual std::optional<std::string> Missing() const = 0;
  virtual void Start() = 0;
  virtual uint16_t port() const = 0;
  virtual std::string UrlAt(uint16_t port) const = 0;
  virtual void Kill9() = 0;
  virtual void Pause() = 0;
  virtual void Continue() = 0;
  virtual void Restart() = 0;

  virtual LockCapabilities can() const = 0;
  virtual Result<std::shared_ptr<LockEngine>> OpenLocks(const std::string& url,
                                                        const std::string& space, milliseconds call,
                                                        size_t max_waiters) const = 0;
  // Its clock is the table test_clock.
  virtual Result<std::unique_ptr<SqlStore>> OpenStore(const std::string& url,
                                                      const std::string& space, milliseconds call,
                                                      bool own_clock) const = 0;
  virtual Result<std::unique_ptr<SqlClient>> OpenClient(const std::string& url) const = 0;

  std::string url() const { return UrlAt(port()); }
};

// Each database of this build, for INSTANTIATE_TEST_SUITE_P.
struct SqlWorldKind {
  const char* name;
  std::unique_ptr<SqlWorld> (*make)();
};
std::vector<SqlWorldKind> SqlWorlds();

}  // namespace oncemq::testing
