// SPDX-License-Identifier: Apache-2.0
// A server with three commands: "echo" gives its arguments back, "wait" answers on the word of the
// test, and "long" with as much as is allowed.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "admin_commands.h"
#include "admin_listener.h"
#include "http_server.h"
#include "raw_client.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

class HttpServerTest : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  static bool Anybody(uid_t) { return true; }

  HttpServerTest() {
    commands_.Add({.name = "echo", .run = [this](const Json& arguments) {
                     calls_++;
                     return Result<nlohmann::ordered_json>(nlohmann::ordered_json(arguments));
                   }});
    commands_.Add({.name = "wait", .run = [this](const Json&) -> Result<nlohmann::ordered_json> {
                     calls_++;
                     go_on_.get_future().wait();
                     return nlohmann::ordered_json(std::string(kMostAdminAnswer / 2, 'x'));
                   }});
    commands_.Add({.name = "long", .run = [](const Json&) -> Result<nlohmann::ordered_json> {
                     return nlohmann::ordered_json(std::string(kMostAdminAnswer - 100, 'x'));
                   }});
  }
  void Start(milliseconds deadline = milliseconds(20'000), uint32_t connections = 8,
             std::function<bool(uid_t)> may_query = Anybody) {
    auto listener = AdminListener::Open(path_);
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = *std::move(listener);
    auto server = HttpServer::Start(listener_->fd(), {.deadline = deadline,
                                                      .connections = connections,
                                                      .may_query = std::move(may_query),
                                                      .answer = [this](const std::string& target) {
                                                        return AnswerAdmin(commands_, target);
                                                      }});
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  static std::string Echo(const std::string& text) { return "/v1/echo?text=" + text; }
  // A well-behaved client is served.
  void ExpectItServes() const {
    RawClient client(path_);
    client.Get(Echo("hello"));
    EXPECT_EQ(client.Answer(), Json({{"text", "hello"}}));
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "admin.sock";
  std::atomic<int> calls_{0};
  std::promise<void> go_on_;
  AdminCommands commands_;
  std::unique_ptr<AdminListener> listener_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace oncemq::testing
