// SPDX-License-Identifier: Apache-2.0
// The paths of the admin socket and of the TCP address, and hostile clients there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>

#include "oncemq/framework/admin.h"
#include "raw_client.h"
#include "support/eventually.h"
#include "support/log_file.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ReadyRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return {}; }
  RunReport Report() const override {
    RunReport report;
    report.state.joined = true;
    report.state.window_fails = window_fails;
    return report;
  }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return std::vector<FoundMessage>{};
  }
  const std::string& guarantee() const override { return line_; }

  std::atomic<bool> window_fails{false};

 private:
  const std::string line_ = "guarded";
};

class AdminSocketTest : public ::testing::Test {
 protected:
  void Open(AdminOptions options, std::function<std::string()> metrics = {}) {
    auto admin = AdminSocket::Open(
        options, {.runtime = &runtime_, .group = "shop", .metrics = std::move(metrics)});
    ASSERT_TRUE(admin) << admin.error().message;
    admin_ = *std::move(admin);
  }
  std::string OverTcp(const std::string& target) const {
    RawClient client(admin_->port());
    client.Get(target);
    return client.ReadToTheEnd();
  }
  std::string OverSocket(const std::string& target) const {
    RawClient client(path_);
    client.Get(target);
    return client.ReadToTheEnd();
  }
  static size_t Descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "admin.sock";
  ReadyRuntime runtime_;
  std::unique_ptr<AdminSocket> admin_;
};

TEST_F(AdminSocketTest, MetricsAndHealthAreOnBoth) {
  Open({.socket = path_, .listen = "0"}, [] { return std::string("oncemq_open 5\n"); });
  for (const auto& [path, body] :
       {std::pair("/livez", "\r\n\r\nok\n"), std::pair("/readyz?verbose", "\r\n\r\nok\n"),
        std::pair("/metrics", "\r\n\r\noncemq_open 5\n")}) {
    EXPECT_THAT(OverTcp(path), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(OverTcp(path), EndsWith(body));
    EXPECT_EQ(OverSocket(path), OverTcp(path));
  }
  EXPECT_THAT(OverTcp("/metrics"),
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  runtime_.window_fails = true;
  EXPECT_THAT(OverTcp("/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(OverTcp("/readyz"), EndsWith("\r\n\r\nthe window does not answer\n"));
  EXPECT_THAT(OverTcp("/livez"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminSocketTest, OverTcpNothingElseIsThere) {
  Open({.socket = path_, .listen = "0"});
  for (const char* path : {"/", "/v1/status", "/v1/window/stat", "/metrics/", "//metrics",
                           "/livez/x", "/metrics%20", "http://x/metrics"}) {
    EXPECT_THAT(OverTcp(path), StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(OverTcp(path), Not(HasSubstr("shop"))) << path;
  }
  EXPECT_THAT(OverSocket("/v1/status"), HasSubstr(R"({"group":"shop")"));
}

TEST_F(AdminSocketTest, WithoutMetricsTheirPathSaysWhy) {
  Open({.listen = "127.0.0.1:0"});
  EXPECT_THAT(OverTcp("/metrics"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(OverTcp("/metrics"), HasSubstr("this service publishes no metrics"));
}

TEST_F(AdminSocketTest, ATakenPortIsTold) {
  Open({.listen = "0"});
  const std::string taken = std::to_string(admin_->port());
  for (const Status& refused :
       {AdminSocket::CheckFree({.listen = taken}),
        Status(AdminSocket::Open({.listen = taken}, {.runtime = &runtime_}).error())}) {
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_EQ(refused.error().message,
              "cannot listen at 127.0.0.1, port " + taken + ": another process has this port");
  }
  admin_.reset();
  EXPECT_TRUE(AdminSocket::CheckFree({.listen = taken}));
  EXPECT_EQ(AdminSocket::CheckFree({.listen = "192.0.2.1:0"}).error().code, Code::kInvalid);
}

TEST_F(AdminSocketTest, AnAddressForOthersIsSaidInTheLog) {
  LogFile log;
  Open({.listen = "0.0.0.0:0"});
  const std::string port = std::to_string(admin_->port());
  EXPECT_THAT(OverTcp("/livez"), EndsWith("ok\n"));
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr(R"("port":)" + port));
  EXPECT_THAT(text, HasSubstr("reads the metrics and the health of the service"));
  EXPECT_EQ(AdminExposure({.listen = "9464"}), "");
  EXPECT_EQ(AdminExposure({.listen = "[::1]:9464"}), "");
  EXPECT_NE(AdminExposure({.listen = "[::]:9464"}), "");
}

TEST_F(AdminSocketTest, SilentClientsTakeNoMoreThanTheirPlaces) {
  constexpr uint32_t kPlaces = 4;
  Open({.socket = path_, .listen = "0", .deadline = milliseconds(500), .connections = kPlaces});
  OverTcp("/livez");
  const size_t before = Descriptors();
  std::deque<OwnedFd> silent;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(admin_->port());
  for (int i = 0; i < 200; i++) {
    silent.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  size_t most = 0;
  for (int i = 0; i < 50; i++) {
    most = std::max(most, Descriptors() - silent.size());
    if (i % 10 == 0) {
      EXPECT_THAT(OverSocket("/livez"), EndsWith("ok\n")) << "the socket has its own threads";
    }
    SleepFor(milliseconds(10));
  }
  EXPECT_LE(most, before + kPlaces + 1);
  silent.clear();
  EXPECT_THAT(OverTcp("/livez"), EndsWith("ok\n"));
}

TEST(AdminAddress, IsAPortOrANumericAddressWithAPort) {
  const auto shown = [](std::string_view text) {
    const auto address = ParseAdminAddress(text);
    return address ? address->host + " " + std::to_string(address->port) +
                         (address->loopback ? " loopback" : "")
                   : "refused";
  };
  EXPECT_EQ(shown("9464"), "127.0.0.1 9464 loopback");
  EXPECT_EQ(shown("0"), "127.0.0.1 0 loopback");
  EXPECT_EQ(shown("localhost:9464"), "127.0.0.1 9464 loopback");
  EXPECT_EQ(shown("127.0.0.9:65535"), "127.0.0.9 65535 loopback");
  EXPECT_EQ(shown("0.0.0.0:9464"), "0.0.0.0 9464");
  EXPECT_EQ(shown("[::1]:9464"), "::1 9464 loopback");
  EXPECT_EQ(shown("[::]:9464"), ":: 9464");
  for (const char* wrong : {"", ":", "x", ":9464", "65536", "-1", "+1", "9464 ", "127.0.0.1",
                            "127.0.0.1:", "example.org:9464", "127.1:9464", "::1:9464", "[::1]",
                            "[]:1", "[127.0.0.1]:1", "127.evil.org:1", "000009464"}) {
    EXPECT_EQ(shown(wrong), "refused") << wrong;
  }
}

}  // namespace
}  // namespace oncemq::testing
