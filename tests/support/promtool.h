// SPDX-License-Identifier: Apache-2.0
// Prometheus' own judge of metrics and rules.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

inline std::optional<std::string> PromtoolMissing() {
  return std::system("command -v promtool >/dev/null 2>&1") == 0
             ? std::nullopt
             : std::optional<std::string>("there is no promtool (package prometheus)");
}

// The complaint of promtool, or nothing. `arguments` of a shell.
inline std::string Promtool(const std::string& arguments) {
  const TempDir dir;
  const std::filesystem::path says = dir.path() / "says";
  const std::string command = "promtool " + arguments + " > " + says.string() + " 2>&1";
  if (std::system(command.c_str()) == 0) {
    return "";
  }
  std::ostringstream out;
  out << std::ifstream(says).rdbuf();
  return "promtool: " + out.str();
}

inline std::string PromtoolCheckMetrics(const std::string& text) {
  const TempDir dir;
  std::ofstream(dir.path() / "text") << text;
  return Promtool("check metrics < " + (dir.path() / "text").string());
}

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_PROMTOOL() ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::PromtoolMissing())
