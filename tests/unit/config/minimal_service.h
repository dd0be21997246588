// SPDX-License-Identifier: Apache-2.0
// The smallest file that is accepted, for tests that add one thing to it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_options.h"
#include "support/unwrapped.h"

namespace oncemq {

inline const std::string kMinimalService =
    "kafka:\n"
    "  brokers: localhost:9092\n"
    "  group: payments\n"
    "topics: payments\n"
    "window:\n"
    "  engine: memory\n"
    "  level: guarded\n"
    "  ids: partition_owned\n"
    "  id: {header: message-id}\n";

// Knows no variable and no file.
inline ConfigSources NoSources() {
  return {[](const std::string&) -> std::optional<std::string> { return std::nullopt; },
          [](const std::string&) -> Result<std::string> {
            return Error{Code::kInvalid, Effect::kNone, "no files here"};
          }};
}

// The errors of a file, or nothing when it is accepted.
inline std::string ErrorsOf(const std::string& yaml) {
  const auto options = ParseService(yaml, "service.yaml", NoSources());
  return options ? "" : options.error().message;
}

inline ServiceOptions Parsed(const std::string& yaml) {
  const auto options = ParseService(yaml, "service.yaml", NoSources());
  EXPECT_TRUE(options) << options.error().message;
  return options.value_or(ServiceOptions{});
}

using testing::Unwrapped;

inline std::string Explained(const std::string& yaml) {
  return Unwrapped(ExplainGuarantee(Parsed(yaml)));
}

// Expects lines that no terminal breaks.
inline void ExpectExplainedInNarrowLines(const std::string& yaml) {
  std::istringstream lines(ExplainGuarantee(Parsed(yaml)));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

// The minimal file with one line of it replaced.
inline std::string With(const std::string& line, const std::string& replacement) {
  std::string yaml = kMinimalService;
  yaml.replace(yaml.find(line), line.size(), replacement);
  return yaml;
}

}  // namespace oncemq
