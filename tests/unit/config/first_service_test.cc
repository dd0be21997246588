// SPDX-License-Identifier: Apache-2.0
// The service file that the README begins with.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {
namespace {

#ifdef ONCEMQ_WITH_ROCKSDB
TEST(FirstService, IsAcceptedWithWhatTheReaderHasExported) {
  std::ostringstream yaml;
  yaml << std::ifstream(ONCEMQ_SOURCE_DIR "/examples/first/service.yaml").rdbuf();
  ConfigSources sources = NoSources();
  sources.variable = [](const std::string& name) -> std::optional<std::string> {
    const std::map<std::string, std::string> exported = {{"BROKER", "127.0.0.1:9092"},
                                                         {"PWD", "/home/me/oncemq"}};
    const auto found = exported.find(name);
    return found == exported.end() ? std::nullopt : std::optional(found->second);
  };
  const auto options = ParseService(yaml.str(), "examples/first/service.yaml", sources);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->runtime.kafka.brokers, "127.0.0.1:9092");
  EXPECT_EQ(options->local.directory, "/home/me/oncemq/build/first/127.0.0.1:9092");
  EXPECT_EQ(options->admin.socket, "/home/me/oncemq/build/first/admin.sock");
}
#endif

}  // namespace
}  // namespace oncemq
