// SPDX-License-Identifier: Apache-2.0
// I14: a client that can't log in says much, and its password never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "oncemq/base/log.h"
#include "oncemq/framework/runtime.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool Holds(const std::function<bool()>& condition) {
  return Eventually(std::chrono::seconds(20), condition);
}

std::string TextOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(NoSecret, OfTheClientIsEverLogged) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "log";
  StartLogging({.level = LogLevel::kDebug, .file = file});
  RuntimeOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.group = "g";
  options.kafka.topics = {"t"};
  options.kafka.properties = {{"security.protocol", "SASL_PLAINTEXT"},
                              {"sasl.mechanism", "PLAIN"},
                              {"sasl.username", "somebody"},
                              {"sasl.password", "canary-of-password"},
                              {"debug", "all"}};
  auto runtime =
      Runtime::Open(options, nullptr, [](const Message&, Context&) -> Outcome { return Done{}; });
  ASSERT_TRUE(runtime.has_value()) << ToString(runtime.error());
  {
    std::jthread run([&](const std::stop_token& stop) { (*runtime)->Run(stop); });
    EXPECT_TRUE(Holds([&] { return TextOf(file).find("127.0.0.1:1") != std::string::npos; }));
  }
  runtime->reset();
  StopLogging();
  EXPECT_THAT(TextOf(file), Not(HasSubstr("canary")));
}

}  // namespace
}  // namespace oncemq::testing
