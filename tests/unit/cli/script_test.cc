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
  Ended Build(const std::string& arguments) const { return RunScript("build", arguments); }
  Ended RunScript(const std::string& script, const std::string& arguments) const {
    Process process(
        {.command = {"/bin/sh", "-c",
                     "exec '" ONCEMQ_SOURCE_DIR "/scripts/" + script + "' " + arguments + " >'" +
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

TEST_F(Script, BuildRefusesAPresetThatItDoesNotHaveAndMakesNoFolder) {
  const Ended unknown = Build("nosuch");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no preset nosuch\n"));
  EXPECT_FALSE(std::filesystem::exists(ONCEMQ_SOURCE_DIR "/build/nosuch"));
}

TEST_F(Script, DemoNamesBothDemosWithoutABuild) {
  const Ended help = RunScript("demo", "--help");
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, HasSubstr("  --broker-only "));
  EXPECT_THAT(help.out, HasSubstr("scripts/demo ledger "));
  EXPECT_THAT(help.out, HasSubstr("  --seconds N "));
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
