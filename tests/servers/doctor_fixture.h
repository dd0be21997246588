// SPDX-License-Identifier: Apache-2.0
// `oncemq doctor` with a window in a real server, and brokers that answer.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "server_window_fixture.h"
#include "support/mock_cluster.h"

namespace oncemq::testing {

class DoctorFixture : public ServerWindowFixture {
 protected:
  DoctorFixture() { brokers_.CreateTopic("payments", 4); }

  std::string FileOf(const std::string& engine, const std::string& at,
                     const std::string& keys) const {
    return FileWith(engine, at, keys, brokers_.address());
  }

  // Its text, without the password of the file.
  std::string ExpectDoctor(const std::string& file, int code) const {
    const Ended ended = Run("doctor " + file);
    EXPECT_EQ(ended.code, code) << ended.out << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_THAT(ended.out, ::testing::Not(::testing::HasSubstr("secret")));
    EXPECT_THAT(ended.out, ::testing::HasSubstr("\n  partitions: payments 4\n"));
    EXPECT_THAT(ended.out, ::testing::HasSubstr("\nlocks: none, ok\n"));
    return ended.out;
  }

  void ExpectClaimsMade(const std::string& file) const {
    const Ended ended = Run("doctor --json -c " + file);
    EXPECT_EQ(ended.code, 0) << ended.out;
    const auto json = nlohmann::json::parse(ended.out);
    EXPECT_EQ(json["state"], "ok");
    const auto window = json["parts"][0];
    EXPECT_EQ(window["part"], "window");
    EXPECT_EQ(window["claims"]["made"], 100);
    EXPECT_GT(window["claims"]["p50_us"], 0);
    EXPECT_EQ(window["scope_opened"], false);
    EXPECT_TRUE(json["parts"][2]["at"].is_null()) << "no locks";
    EXPECT_GE(window["claims"]["p99_us"], window["claims"]["p50_us"]);
    EXPECT_EQ(json["parts"][1]["partitions"]["payments"], 4);
  }

  MockCluster brokers_{1};
};

}  // namespace oncemq::testing
