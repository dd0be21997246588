// SPDX-License-Identifier: Apache-2.0
// A server with two commands: "echo" gives its arguments back, "wait" answers when the test says,
// and "long" with as much as is allowed.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "admin_server.h"
#include "raw_client.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

class AdminServerTest : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  static bool Anybody(uid_t) { return true; }

  void Start(milliseconds deadline = milliseconds(20'000), uint32_t connections = 8,
             std::function<bool(uid_t)> may_query = Anybody,
             const Clock& clock = SystemClock::Instance()) {
    AdminCommands commands;
    commands.Add({.name = "echo", .run = [this](const Json& arguments) {
                    calls_++;
                    return Result<nlohmann::ordered_json>(nlohmann::ordered_json(arguments));
                  }});
    commands.Add({.name = "wait", .run = [this](const Json&) -> Result<nlohmann::ordered_json> {
                    calls_++;
                    go_on_.get_future().wait();
                    return nlohmann::ordered_json(std::string(kMostAnswer / 2, 'x'));
                  }});
    commands.Add({.name = "long", .run = [](const Json&) -> Result<nlohmann::ordered_json> {
                    return nlohmann::ordered_json(std::string(kMostAnswer - 100, 'x'));
                  }});
    auto listener = AdminListener::Open(path_);
    ASSERT_TRUE(listener) << listener.error().message;
    auto server = AdminServer::Start(*std::move(listener), std::move(commands),
                                     {deadline, connections, std::move(may_query)}, clock);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  static std::string Echo(const std::string& text) {
    return EncodeAdminRequest({"echo", {{"text", text}}});
  }
  // A well-behaved client is served.
  void ExpectItServes() const {
    RawClient client(path_);
    client.SendFrame(Echo("hello"));
    EXPECT_EQ(client.Answer(), Json::parse(R"({"v":1,"ok":true,"result":{"text":"hello"}})"));
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "admin.sock";
  std::atomic<int> calls_{0};
  std::promise<void> go_on_;
  ManualClock clock_;  // for tests that say so
  std::unique_ptr<AdminServer> server_;
};

}  // namespace oncemq::testing
