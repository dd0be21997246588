// SPDX-License-Identifier: Apache-2.0
// The service file that the README begins with, and those of the examples.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {
namespace {

Result<ServiceOptions> ParsedExample(const std::string& name,
                                     const std::map<std::string, std::string>& exported) {
  const std::string file = "examples/" + name + "/service.yaml";
  std::ostringstream yaml;
  yaml << std::ifstream(ONCEMQ_SOURCE_DIR "/" + file).rdbuf();
  ConfigSources sources = NoSources();
  sources.variable = [&](const std::string& variable) -> std::optional<std::string> {
    const auto found = exported.find(variable);
    return found == exported.end() ? std::nullopt : std::optional(found->second);
  };
  return ParseService(yaml.str(), file, sources);
}

TEST(ExampleService, HelloIsAcceptedWithNothingExported) {
  const auto options = ParsedExample("hello", {});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->runtime.kafka.brokers, "localhost:9092");
  EXPECT_EQ(LevelOf(*options), Level::kOpaque);
}

#ifdef ONCEMQ_WITH_POSTGRES
TEST(ExampleService, AtomicSqlIsAcceptedWithItsDatabase) {
  const auto options = ParsedExample(
      "atomic_sql", {{"PWD", "/home/me/oncemq"}, {"PAYMENTS_DB", "postgres://u@h/d"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(LevelOf(*options), Level::kAtomic);
  EXPECT_EQ(options->runtime.journal, "/home/me/oncemq/build/atomic_sql.refused");
}

TEST(ExampleService, CallOnceIsAcceptedWithItsDatabase) {
  const auto options =
      ParsedExample("call_once", {{"PWD", "/home/me/oncemq"}, {"PARCELS_DB", "postgres://u@h/d"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(LevelOf(*options), Level::kOpaque);
  EXPECT_EQ(options->runtime.journal, "/home/me/oncemq/build/call_once.refused");
}
#endif

#ifdef ONCEMQ_WITH_ROCKSDB
TEST(ExampleService, GuardedSqlKeepsItsFilesInTheFolderThatItIsStartedIn) {
  const auto options = ParsedExample("guarded_sql", {{"PWD", "/home/me/oncemq"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->runtime.kafka.brokers, "localhost:9092");
  EXPECT_EQ(LevelOf(*options), Level::kGuarded);
  EXPECT_EQ(options->local.directory, "/home/me/oncemq/build/guarded_sql/window");
  EXPECT_EQ(options->runtime.journal, "/home/me/oncemq/build/guarded_sql.refused");
}

// A reader copies it: it is the code that is compiled and tested.
TEST(FirstPage, ItsHandlerIsThatOfTheExample) {
  const auto text = [](const char* file) {
    std::ostringstream all;
    all << std::ifstream(std::string(ONCEMQ_SOURCE_DIR "/") + file).rdbuf();
    return all.str();
  };
  const std::string page = text("README.md");
  const std::string fence = "```cpp\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, page.npos);
  const size_t code = begin + fence.size();
  const std::string handler = page.substr(code, page.find("```", code) - code);
  EXPECT_NE(handler.find("context.sql()"), handler.npos);
  EXPECT_NE(text("examples/atomic_sql/main.cc").find(handler), std::string::npos) << handler;
}

TEST(FirstService, IsAcceptedWithWhatTheReaderHasExported) {
  const auto options =
      ParsedExample("first", {{"BROKER", "127.0.0.1:9092"}, {"PWD", "/home/me/oncemq"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->runtime.kafka.brokers, "127.0.0.1:9092");
  EXPECT_EQ(options->local.directory, "/home/me/oncemq/build/first/127.0.0.1:9092");
  EXPECT_EQ(options->admin.socket, "/home/me/oncemq/build/first/admin.sock");
}
#endif

}  // namespace
}  // namespace oncemq
