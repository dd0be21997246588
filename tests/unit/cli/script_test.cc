// SPDX-License-Identifier: Apache-2.0
// The scripts of this repository that people call first, as far as they build nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class Script : public Command {
 protected:
  Ended Build(const std::string& arguments) const {
    Process process({.command = {"/bin/sh", "-c",
                                 "exec '" ONCEMQ_SOURCE_DIR "/scripts/build' " + arguments + " >'" +
                                     out_.string() + "' 2>'" + err_.string() + "'"}});
    const auto code = process.Wait(std::chrono::seconds(30));
    EXPECT_TRUE(code) << arguments << " does not end";
    return {code.value_or(-1), ReadAll(out_), ReadAll(err_)};
  }
};

TEST_F(Script, BuildExplainsItselfAndMakesNoFolder) {
  for (const char* argument : {"--help", "-h", "dev --help"}) {
    const Ended help = Build(argument);
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, HasSubstr("scripts/build <preset> [target...]"));
    EXPECT_THAT(help.out, HasSubstr(" release "));
  }
  EXPECT_FALSE(std::filesystem::exists(ONCEMQ_SOURCE_DIR "/build/--help"));
}

TEST_F(Script, BuildRefusesAnOptionThatItDoesNotHave) {
  const Ended unknown = Build("--fast dev");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err, HasSubstr("unknown option --fast\n"));
  const Ended none = Build("");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("Presets: "));
}

}  // namespace
}  // namespace oncemq::testing
