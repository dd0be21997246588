// SPDX-License-Identifier: Apache-2.0
// A database for the tests of its client and of its locks: one for all that do not break it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/clients/sql_client.h"

namespace oncemq::testing {

inline constexpr SqlTimes kShort{milliseconds(10'000), milliseconds(3'000)};
inline constexpr SqlTimes kPatient{milliseconds(10'000), milliseconds(30'000)};
inline constexpr std::chrono::seconds kPatience{60};

// kOpen: the client of such a database, from its address, times and connections.
template <class Server, auto kOpen>
class SqlClientFixture : public ::testing::Test {
 protected:
  // In SetUp(), once it is known that there can be one.
  void Begin() {
    if (!shared_) {
      shared_ = Server::Start();
    }
    server_ = shared_.get();
  }
  static void TearDownTestSuite() { shared_.reset(); }
  void StartOwn(std::vector<std::string> settings = {}) {
    own_ = Server::Start(std::move(settings));
    server_ = own_.get();
  }
  static Result<std::unique_ptr<SqlClient>> Open(const std::string& url,
                                                 const SqlTimes& times = kPatient,
                                                 size_t connections = 16) {
    return kOpen(url, times, connections);
  }
  void OpenClient(const SqlTimes& times = kPatient, size_t connections = 16) {
    auto client = Open(server_->url(), times, connections);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
  }
  SqlAnswer Run(const SqlStatement& statement) {
    if (!client_) {
      OpenClient();
    }
    auto answer = client_->Run(statement);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  std::string One(const SqlStatement& statement) {
    const SqlAnswer answer = Run(statement);
    return answer.rows.empty() ? "" : answer.rows[0][0].value_or("");
  }

  Server* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;

 private:
  static inline std::unique_ptr<Server> shared_;
  std::unique_ptr<Server> own_;
};

}  // namespace oncemq::testing
