// SPDX-License-Identifier: Apache-2.0
// The command as a process: what it prints where, and how it ends.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/eventually.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/unwrapped.h"

namespace oncemq::testing {

inline constexpr std::string_view kService =
    "kafka:\n"
    "  brokers: 127.0.0.1:1\n"
    "  group: payments\n"
    "  properties: {sasl.password: hunter2}\n"
    "topics: payments\n"
    "window:\n"
    "  engine: memory\n"
    "  level: guarded\n"
    "  ids: partition_owned\n"
    "  id: {header: message-id}\n";

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Command : public ::testing::Test {
 protected:
  struct Ended {
    int code = -1;
    std::string out;
    std::string err;
  };

  // Paths of this test and plain words only, so the shell finds nothing to expand.
  std::vector<std::string> ShellLine(const std::string& arguments,
                                     const std::string& who = "") const {
    return {"/bin/sh", "-c",
            "exec '" ONCEMQ_PROGRAM "' " + arguments + " >'" + out_.string() + who + "' 2>'" +
                err_.string() + who + "'"};
  }

  // `who`: beside another one that runs, so that each keeps its output.
  Ended Run(const std::string& arguments, const std::string& who = "") const {
    Process process({.command = ShellLine(arguments, who)});
    const auto code = process.Wait(std::chrono::seconds(30));
    EXPECT_TRUE(code) << arguments << " does not end";
    return {code.value_or(-1), ReadAll(out_.string() + who), ReadAll(err_.string() + who)};
  }

  // One line for people, with a word of the reason and no secret.
  static void ExpectOneLine(const Ended& ended, const std::string& why) {
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, ::testing::AllOf(::testing::HasSubstr(why),
                                            ::testing::Not(::testing::HasSubstr("hunter2"))))
        << ended.out;
  }

  std::string Write(std::string_view yaml) const {
    std::ofstream(file_) << yaml;
    return "'" + file_.string() + "'";
  }

  const TempDir dir_;
  const std::filesystem::path file_ = dir_.path() / "service.yaml";
  const std::filesystem::path out_ = dir_.path() / "out";
  const std::filesystem::path err_ = dir_.path() / "err";
};

}  // namespace oncemq::testing
