// SPDX-License-Identifier: Apache-2.0
// The windows that cli/service.yaml shows as comments, next to the one in memory.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace oncemq {

// A service file with the window of that engine. `every_key`: those too that show their default.
inline std::string ReferenceWindow(const std::string& engine, bool every_key) {
  std::ifstream reference(ONCEMQ_SOURCE_DIR "/cli/service.yaml");
  std::string window;
  bool inside = false;
  bool found = false;
  for (std::string line; !found && std::getline(reference, line);) {
    found = inside && !line.starts_with('#') &&
            window.find("  engine: " + engine + "\n") != std::string::npos;
    if (line == "# window:") {
      window.clear();
    }
    inside = line == "# window:" || (inside && line.starts_with('#'));
    if (!inside) {
      continue;
    }
    line.erase(0, 2);
    const size_t at = line.find('#');
    const bool key = at != std::string::npos && at > 0 && line[at - 1] == ' ' &&
                     line.find_first_not_of(' ') == at;
    window += (key && every_key ? line.erase(at, 1) : line) + "\n";
  }
  EXPECT_TRUE(found) << engine;
  return "kafka: {brokers: k1, group: payments}\ntopics: payments\n" + window;
}

// Expects each key of the window that is `described` in the text `shown`, and in the tables of the
// policies. The number of keys.
inline int ExpectWindowKeysShown(const std::string& described, const std::string& shown) {
  const size_t begin = described.find("window:");
  std::istringstream lines(described.substr(begin, described.find("order:") - begin));
  std::ostringstream policies;
  policies << std::ifstream(ONCEMQ_SOURCE_DIR "/docs/policies.md").rdbuf();
  int keys = 0;
  for (std::string line; std::getline(lines, line); keys++) {
    const std::string name = line.substr(0, line.find(':'));
    EXPECT_THAT(shown, ::testing::HasSubstr(name + ":"));
    if (keys > 0) {
      EXPECT_THAT(policies.str(), ::testing::HasSubstr("`window." + name.substr(2) + "`"));
    }
  }
  return keys;
}

}  // namespace oncemq
