// SPDX-License-Identifier: Apache-2.0
#include "expand.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "support/temp_dir.h"

namespace oncemq {
namespace {

using oncemq::testing::TempDir;
using ::testing::HasSubstr;

ConfigSources Sources(const std::map<std::string, std::string>& variables) {
  return {[variables](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found != variables.end() ? std::optional(found->second) : std::nullopt;
          },
          ReadSecretFile};
}

std::string Expanded(std::string_view text, const std::map<std::string, std::string>& variables) {
  const auto value = ExpandValue(text, Sources(variables), SecretPlace::kNo);
  return value ? *value : "error: " + value.error().message;
}

TEST(Expand, ReplacesVariables) {
  EXPECT_EQ(Expanded("${HOST}", {{"HOST", "k1"}}), "k1");
  EXPECT_EQ(Expanded("${HOST}:${PORT}", {{"HOST", "k1"}, {"PORT", "9092"}}), "k1:9092");
  EXPECT_EQ(Expanded("a${EMPTY}b", {{"EMPTY", ""}}), "ab");
}

TEST(Expand, UsesTheDefaultOnlyWhereTheVariableIsNotSet) {
  EXPECT_EQ(Expanded("${HOST:localhost}", {}), "localhost");
  EXPECT_EQ(Expanded("${HOST:}", {}), "");
  EXPECT_EQ(Expanded("${HOST:a:b}", {}), "a:b");
  EXPECT_EQ(Expanded("${HOST:localhost}", {{"HOST", "k1"}}), "k1");
  EXPECT_EQ(Expanded("${HOST:localhost}", {{"HOST", ""}}), "");
}

TEST(Expand, AMissingVariableWithoutDefaultIsAnError) {
  EXPECT_THAT(Expanded("${HOST}", {}), HasSubstr("no variable `HOST`"));
}

TEST(Expand, AValueIsNotExpandedAgain) {
  EXPECT_EQ(Expanded("${A}", {{"A", "${B}"}, {"B", "x"}}), "${B}");
}

TEST(Expand, TextWithoutVariablesStaysAsItIs) {
  EXPECT_EQ(Expanded("", {}), "");
  EXPECT_EQ(Expanded("$ { } $5 a$b }", {}), "$ { } $5 a$b }");
}

TEST(Expand, TwoDollarsStandForTheCharactersThemselves) {
  EXPECT_EQ(Expanded("$${HOST}", {}), "${HOST}");
  EXPECT_EQ(Expanded("a$${b}${C}", {{"C", "c"}}), "a${b}c");
}

TEST(Expand, WhatIsNoVariableIsAnError) {
  EXPECT_THAT(Expanded("${", {}), HasSubstr("without its `}`"));
  EXPECT_THAT(Expanded("${A", {{"A", "x"}}), HasSubstr("without its `}`"));
  EXPECT_THAT(Expanded("${}", {}), HasSubstr("is no variable"));
  EXPECT_THAT(Expanded("${1A}", {}), HasSubstr("is no variable"));
  EXPECT_THAT(Expanded("${A-B}", {}), HasSubstr("is no variable"));
  EXPECT_THAT(Expanded("${:x}", {}), HasSubstr("is no variable"));
}

class SecretFile : public ::testing::Test {
 protected:
  void Write(const std::string& content, mode_t mode) {
    std::ofstream(path_) << content;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  std::string Read() const {
    const auto secret = ReadSecretFile(path_.string());
    return secret ? *secret : "error: " + secret.error().message;
  }

  const TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "secret";
};

TEST_F(SecretFile, GivesItsContentWithoutTheLastLineFeed) {
  Write("hunter2\n", 0600);
  EXPECT_EQ(Read(), "hunter2");
  Write("two\nlines\n\n", 0400);
  EXPECT_EQ(Read(), "two\nlines\n");
}

TEST_F(SecretFile, StandsOnlyWhereAValueIsNeverPrinted) {
  Write("hunter2", 0600);
  const std::string text = "${file:" + path_.string() + "}";
  const auto yes = ExpandValue(text, Sources({}), SecretPlace::kYes);
  ASSERT_TRUE(yes);
  EXPECT_EQ(*yes, "hunter2");
  EXPECT_THAT(Expanded(text, {}), HasSubstr("for secrets only"));
}

TEST_F(SecretFile, IsRefusedWhenOthersMayReadOrChangeIt) {
  for (const mode_t mode : {0644, 0640, 0604, 0620, 0602, 0777}) {
    Write("hunter2", mode);
    EXPECT_THAT(Read(), HasSubstr("chmod 600")) << mode;
    EXPECT_EQ(Read().find("hunter2"), std::string::npos);
  }
}

TEST_F(SecretFile, IsRefusedWhenItIsMissingEmptyTooLargeOrNoFile) {
  EXPECT_THAT(Read(), HasSubstr("No such file"));
  Write("", 0600);
  EXPECT_THAT(Read(), HasSubstr("empty"));
  Write("\n", 0600);
  EXPECT_THAT(Read(), HasSubstr("empty"));
  Write(std::string(65'537, 'x'), 0600);
  EXPECT_THAT(Read(), HasSubstr("larger than 64KiB"));
  EXPECT_FALSE(ReadSecretFile(dir_.path().string()));
}

TEST_F(SecretFile, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Read(), HasSubstr("not an ordinary file"));
}

}  // namespace
}  // namespace oncemq
