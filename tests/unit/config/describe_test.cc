// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Describe, IsAFileThatGivesTheSameOptions) {
  for (const std::string& yaml :
       {kMinimalService,
        std::string("kafka: {brokers: k1, group: payments}\ntopics: p\nwindow: {engine: none}\n"),
        std::string(
            "scope: {app: shop, namespace: eu, handler: pay}\n"
            "kafka: {brokers: 'k1:1,k2:2', group: 'a$${b}\"c\\d', start: now,\n"
            "        assignor: cooperative-sticky, session_timeout: 6s,\n"
            "        commit_interval: 999ms, properties: {client.id: 'x: #y', debug: all}}\n"
            "topics: [a, b]\n"
            "window: {engine: memory, level: opaque, ids: partition_owned, id: key,\n"
            "         missing_id: coordinates}\n"
            "order: {mode: unordered}\nreject: {journal: '/var/my journal'}\n"
            "limits: {in_flight_bytes: 3MiB, waiting_bytes: 2MiB, over_waiting: park}\n"
            "log: {level: warn, format: text, file: l}\n"
            "admin: {socket: '/run/my service/s', listen: '[::1]:9464'}\n"
            "locks: {catalogue: '/etc/my stores', application: pay, secret: 'x: y', lease: 9s}\n"),
        kMinimalService + "locks: {at: 'redis://u:p@h/1', space: 'a b'}\n",
        kMinimalService +
            "locks: {elided: true, names_partition_owned: true, effects_check_fences: true}\n",
        std::string("kafka: {brokers: k1, group: g, start: 2026-11-21T10:00:00.5+02:00}\n"
                    "topics: p\n"
                    "window: {engine: memory, level: guarded, ids: partition_owned,\n"
                    "         id: coordinates, remember: 7}\norder: {mode: partition}\n")}) {
    const auto first = ParseService(yaml, "first", NoSources());
    ASSERT_TRUE(first) << first.error().message;
    const std::string text = Describe(*first);
    const auto second = ParseService(text, "second", NoSources());
    ASSERT_TRUE(second) << second.error().message << "\n" << text;
    EXPECT_EQ(Describe(*second), text);
    EXPECT_EQ(second->runtime.kafka.group, first->runtime.kafka.group);
    EXPECT_EQ(second->runtime.kafka.properties, first->runtime.kafka.properties);
    EXPECT_EQ(second->runtime.kafka.start_time_ms, first->runtime.kafka.start_time_ms);
    EXPECT_EQ(second->runtime.core.session_margin, first->runtime.core.session_margin);
    EXPECT_EQ(second->runtime.journal, first->runtime.journal);
    EXPECT_EQ(second->admin.socket, first->admin.socket);
    EXPECT_EQ(second->admin.listen, first->admin.listen);
  }
}

TEST(Describe, ShowsTheDefaultsInForce) {
  const std::string text = Describe(*ParseService(kMinimalService, "service.yaml", NoSources()));
  EXPECT_THAT(text, HasSubstr("session_timeout: 45s\n"));
  EXPECT_THAT(text, HasSubstr("commit_interval: 500ms\n"));
  EXPECT_THAT(text, HasSubstr("in_flight_bytes: 256MiB\n"));
  EXPECT_THAT(text, HasSubstr("waiting: 65536\n"));
  EXPECT_THAT(text, HasSubstr("over_waiting: hold\n"));
  EXPECT_THAT(text, HasSubstr("lease: 30s\n"));
  EXPECT_THAT(text, HasSubstr("conflicts: detect\n"));
}

// A key behind a # without a space, or with the spaces of its depth; anything else is a comment.
std::string Uncommented(const std::string& reference) {
  std::string out;
  std::istringstream lines(reference);
  bool other = false;  // a window of another engine: the tests of those look at it
  for (std::string line; std::getline(lines, line);) {
    other = other ? line.starts_with('#') : line == "# window:";
    if (other) {
      continue;
    }
    const size_t at = line.find_first_not_of(' ');
    const bool key = at != std::string::npos && line.size() > at + 2 && line[at] == '#' &&
                     (line[at + 1] != ' ' || line[at + 2] == ' ');
    out += (key ? line.erase(at, 1) : line) + "\n";
  }
  return out;
}

std::string ReadSource(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(ONCEMQ_SOURCE_DIR "/" + path).rdbuf();
  return text.str();
}

TEST(Describe, TheReferenceFileShowsEveryKeyWithItsDefault) {
  const std::string reference = ReadSource("cli/service.yaml");
  const auto as_it_stands = ParseService(reference, "as it stands", NoSources());
  ASSERT_TRUE(as_it_stands) << as_it_stands.error().message;
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string&) { return std::string("secret"); };
  const std::string opened = Uncommented(reference);
  auto with_all_keys = ParseService(opened, "uncommented", sources);
  ASSERT_TRUE(with_all_keys) << with_all_keys.error().message << "\n" << opened;
  EXPECT_EQ(with_all_keys->runtime.kafka.properties.size(), 2u);
  EXPECT_NE(with_all_keys->log.file, "");
  EXPECT_NE(with_all_keys->admin.socket, "");
  EXPECT_EQ(with_all_keys->locks.secret, "secret");
  // These have no default to show.
  with_all_keys->runtime.kafka.properties.clear();
  with_all_keys->log.file.clear();
  with_all_keys->admin = {};
  with_all_keys->locks = {};
  const std::string described = Describe(*as_it_stands);
  EXPECT_EQ(Describe(*with_all_keys), described);
  std::istringstream lines(described);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(opened, HasSubstr(line.substr(0, line.find(':') + 1)));
  }
}

TEST(Describe, EveryKeyStandsInTheTablesOfThePolicies) {
  ConfigSources sources = NoSources();
  sources.secret_file = [](const std::string&) { return std::string("secret"); };
  const auto options =
      ParseService(Uncommented(ReadSource("cli/service.yaml")), "uncommented", sources);
  ASSERT_TRUE(options) << options.error().message;
  const std::string page = ReadSource("docs/policies.md");
  std::istringstream lines(Describe(*options));
  std::string section;
  int keys = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find_first_not_of(' ');
    const std::string name = line.substr(at, line.find(':') - at);
    if (at == 0) {
      section = name;
    }
    const bool head = at == 0 && line.ends_with(':') && name != "topics";
    if (at > 2 || name.starts_with('-') || head) {
      continue;  // librdkafka's names, items of a list, sections
    }
    const std::string path = at == 0 ? name : section + "." + name;
    EXPECT_THAT(page, HasSubstr("`" + path + "`"));
    keys++;
  }
  EXPECT_GT(keys, 40);
}

TEST(Describe, NeverShowsASecret) {
  ServiceOptions options = *ParseService(kMinimalService, "service.yaml", NoSources());
  options.runtime.kafka.properties = {{"sasl.username", "hunter1"},
                                      {"sasl.password", "hunter2"},
                                      {"ssl.key.pem", "hunter3"},
                                      {"unknown", "hunter4"},
                                      {"client.id", "shown"}};
  const std::string text = Describe(options);
  EXPECT_THAT(text, Not(HasSubstr("hunter")));
  EXPECT_THAT(text, HasSubstr("sasl.password: \"(not shown)\"\n"));
  EXPECT_THAT(text, HasSubstr("client.id: shown\n"));
}

}  // namespace
}  // namespace oncemq
