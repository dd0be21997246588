// SPDX-License-Identifier: Apache-2.0
// The same tests with a librdkafka that is newer than the system's, and with the assignor that only
// such a one may use. Where it can't be had, this says so and passes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "support/kafka_broker.h"
#include "support/process.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class NewerLibrdkafka : public ::testing::Test {
 protected:
  // The directory of the library, or nothing and a loud line.
  std::string Library() {
    const auto log = dir_.path() / "librdkafka-new.log";
    Process script({.command = {ONCEMQ_SOURCE_DIR "/scripts/librdkafka-new"}, .log_file = log});
    const bool found = script.Wait(seconds(240)) == 0;
    std::string text = TextOf(log);
    while (!text.empty() && text.back() == '\n') {
      text.pop_back();
    }
    const std::string last = text.substr(text.rfind('\n') + 1);
    if (!found) {
      std::cout << "not covered: a newer librdkafka, and cooperative-sticky with it: " << last
                << "\n";
      return {};
    }
    return last;
  }

  void Run(const std::filesystem::path& program, const std::string& tests,
           const std::string& assignor) {
    const std::string library = Library();
    if (library.empty()) {
      return;
    }
    const auto log = dir_.path() / "child.log";
    Process child(
        {.command = {program, "--gtest_filter=" + tests},
         .environment = {{"LD_LIBRARY_PATH", library}, {"ONCEMQ_TEST_ASSIGNOR", assignor}},
         .log_file = log});
    EXPECT_EQ(child.Wait(seconds(120)), 0) << TextOf(log);
    EXPECT_NE(TextOf(log).find("\"assignor\":\"" + assignor + "\""), std::string::npos)
        << "the child did not run what it should: " << TextOf(log);
  }
  void RunSmallStorm(const std::string& assignor) {
    Run(std::filesystem::read_symlink("/proc/self/exe"), "KafkaStormSmall.*", assignor);
  }

 private:
  TempDir dir_;
};

TEST_F(NewerLibrdkafka, PassesTheSmallStormWithCooperativeSticky) {
  ONCEMQ_REQUIRE_KAFKA();
  RunSmallStorm("cooperative-sticky");
}

TEST_F(NewerLibrdkafka, PassesTheSmallStormWithRange) {
  ONCEMQ_REQUIRE_KAFKA();
  RunSmallStorm("range");
}

// Only a partition that was unassigned can be assigned anew there.
TEST_F(NewerLibrdkafka, GoesOnAfterRetentionHasOvertakenACooperativeMember) {
  ONCEMQ_REQUIRE_KAFKA();
  Run(ONCEMQ_CATCH_UP_TEST, "KafkaOvertaken.*", "cooperative-sticky");
}

}  // namespace
}  // namespace oncemq::testing
