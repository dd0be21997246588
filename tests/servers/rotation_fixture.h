// SPDX-License-Identifier: Apache-2.0
// `oncemq run` over four partitions, whose store gets another password while it runs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "oncemq/base/clock.h"
#include "server_window_fixture.h"
#include "support/mock_cluster.h"
#include "support/test_producer.h"

namespace oncemq::testing {

struct Rotation {
  std::string engine;
  std::string keys;  // of its window
  // Its address with the old and with the new password, "secret-1" and "secret-2".
  std::string before;
  std::string after;
  // The server knows the new password only, and ends the connections of the old one.
  std::function<void()> rotate;
  std::function<int64_t()> refused;  // logins
};

class RotationFixture : public ServerWindowFixture {
 protected:
  RotationFixture() { brokers_.CreateTopic("payments", 4); }

  void ExpectGoesOnWithTheNewPassword(const Rotation& rotation) {
    Rewrite(rotation.before);
    const std::string file = FileWith(rotation.engine, "${file:" + secret_.string() + "}",
                                      rotation.keys, brokers_.address());
    std::ofstream(file_, std::ios::app) << "admin: {socket: '" << socket_.string() << "'}\n";
    Process service(
        {.command = ShellLine("run --handler print --consume-without-effects -c " + file, kWho)});
    Send(0, 200);
    ASSERT_TRUE(Printed(200)) << Log();
    EXPECT_EQ(Probe().code, 0);
    rotation.rotate();
    const BootTime rotated = BootNow();
    Send(200, 400);
    Ended probe;
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      probe = Probe();
      return probe.code == 1;
    })) << "the other reasons to fail take 60 s";
    EXPECT_THAT(probe.out, ::testing::ContainsRegex("\ndoes not move: [a-z]+://[^ ]* refuses the "
                                                    "login: "));
    EXPECT_THAT(probe.out, ::testing::Not(::testing::HasSubstr("secret-")));
    SleepFor(std::chrono::seconds(5));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(BootNow() - rotated);
    // After 0, 1, 3, 7 and 15 s.
    EXPECT_LE(rotation.refused(), std::bit_width(static_cast<uint64_t>(seconds.count() + 2)));
    EXPECT_FALSE(Printed(400, std::chrono::seconds(0)));
    Rewrite(rotation.after);
    EXPECT_TRUE(Printed(400)) << Log();
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return Probe().code == 0; }));
    EXPECT_EQ(service.Terminate(std::chrono::seconds(20)), 143) << Log();
    for (const auto& [id, times] : Ids()) {
      EXPECT_EQ(times, 1) << id;
    }
    EXPECT_THAT(Log(), ::testing::HasSubstr("user and password were read again"));
    EXPECT_THAT(Log(), ::testing::Not(::testing::HasSubstr("secret-")));
  }

 private:
  static constexpr char kWho[] = ".service";

  // As a supervisor does it: one file takes the place of another.
  void Rewrite(const std::string& address) const {
    const std::filesystem::path next = secret_.string() + ".next";
    std::ofstream(next) << address << "\n";
    std::filesystem::permissions(next, std::filesystem::perms(0600));
    std::filesystem::rename(next, secret_);
  }
  void Send(int first, int end) const {
    TestProducer producer(brokers_.address());
    for (int i = first; i < end; i++) {
      const std::string id = "id-" + std::to_string(i);
      producer.Send({.topic = "payments",
                     .partition = i % 4,
                     .key = id,
                     .value = "x",
                     .headers = {{"message-id", id}}});
    }
    producer.Flush();
  }
  Ended Probe() const { return Run("status --socket '" + socket_.string() + "'"); }
  std::string Log() const { return ReadAll(err_.string() + kWho); }
  std::map<std::string, int> Ids() const {
    std::map<std::string, int> ids;
    std::istringstream lines(ReadAll(out_.string() + kWho));
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      ids[nlohmann::json::parse(line)["id"]]++;
    }
    return ids;
  }
  bool Printed(size_t ids, std::chrono::seconds patience = std::chrono::seconds(60)) const {
    return Eventually(patience, [&] { return Ids().size() >= ids; });
  }

  MockCluster brokers_{1};
  const std::filesystem::path secret_ = dir_.path() / "secret";
  const std::filesystem::path socket_ = dir_.path() / "admin.sock";
};

}  // namespace oncemq::testing
