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
    return RunCommand("exec '" ONCEMQ_SOURCE_DIR "/scripts/" + script + "' " + arguments);
  }
  Ended RunCommand(const std::string& command) const {
    Process process(
        {.command = {"/bin/sh", "-c",
                     "exec >'" + out_.string() + "' 2>'" + err_.string() + "'; " + command}});
    const auto code = process.Wait(std::chrono::seconds(30));
    EXPECT_TRUE(code) << command << " does not end";
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

// A tree of its own with the script, whose builds do what a test says.
class BuildScript : public Script {
 protected:
  void Cmake(const std::string& body) {
    namespace fs = std::filesystem;
    fs::create_directories(tree_ / "scripts");
    fs::create_directories(tree_ / "bin");
    fs::copy_file(ONCEMQ_SOURCE_DIR "/scripts/build", tree_ / "scripts/build");
    fs::copy_file(ONCEMQ_SOURCE_DIR "/CMakePresets.json", tree_ / "CMakePresets.json");
    Write(tree_ / "bin/cmake", "#!/bin/sh\nif [ $1 = --preset ]; then exit 0; fi\n" + body);
    fs::permissions(tree_ / "bin/cmake", fs::perms::owner_all);
  }
  static void Write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  // In the tree.
  Ended Shell(const std::string& command) const {
    return RunCommand("cd '" + tree_.string() + "' && PATH=\"$PWD/bin:$PATH\" && " + command);
  }

  const std::filesystem::path tree_ = dir_.path() / "tree";
};

TEST_F(BuildScript, ASecondBuildOfATreeWaitsForTheFirst) {
  Cmake(
      "mkdir build/dev/under_way || exit 1\n"
      "until grep -qs 'this one waits' ../err; do sleep 0.01; done\n"
      "rmdir build/dev/under_way\n");
  const Ended both = Shell("{ scripts/build dev & scripts/build dev && wait $!; }");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.err, HasSubstr("another build of build/dev is under way; this one waits\n"));
}

TEST_F(BuildScript, AfterAnInternalCompilerErrorItTriesOnceMoreWithNewPrecompiledHeaders) {
  Cmake(
      "if [ -e build/dev/a/x.gch ]; then echo 'cc1plus: internal compiler error'; exit 1; fi\n"
      "echo built\n");
  const Ended healed =
      Shell("mkdir -p build/dev/a && touch build/dev/a/x.gch && scripts/build dev");
  EXPECT_EQ(healed.code, 0) << healed.err;
  EXPECT_THAT(healed.out, HasSubstr("built\n"));
  EXPECT_THAT(healed.err, HasSubstr("once more, with new precompiled headers\n"));
}

TEST_F(BuildScript, AnotherErrorIsTriedOnceAndKeepsTheHeaders) {
  Cmake("echo a.cc:1: error: no; exit 1\n");
  const Ended failed = Shell("mkdir -p build/dev && touch build/dev/x.gch && scripts/build dev");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "a.cc:1: error: no\n");
  EXPECT_TRUE(std::filesystem::exists(tree_ / "build/dev/x.gch"));
}

TEST_F(BuildScript, APrecompiledHeaderIsMadeWithoutTheCacheAndLeavesAChecksumOfItsText) {
  Cmake("");
  Write(tree_ / "bin/cached", "#!/bin/sh\necho cached\nexec \"$@\"\n");
  std::filesystem::permissions(tree_ / "bin/cached", std::filesystem::perms::owner_all);
  Write(tree_ / "x.h", "#define X 1\n");
  const std::string compile =
      "'" ONCEMQ_SOURCE_DIR "/cmake/compile_cached' cached c++ -x c++-header ";
  const Ended header = Shell(compile + "-o x.h.gch -c x.h && cat x.h.gch.sum");
  EXPECT_EQ(header.code, 0) << header.err;
  EXPECT_THAT(header.out, ::testing::Not(HasSubstr("cached")));
  const Ended again = Shell(compile + "-o x.h.gch -c x.h && cat x.h.gch.sum");
  EXPECT_EQ(again.out, header.out);
  Write(tree_ / "x.h", "#define X 2\n");
  EXPECT_NE(Shell(compile + "-o x.h.gch -c x.h && cat x.h.gch.sum").out, header.out);
  Write(tree_ / "x.cc", "int x;\n");
  const Ended object =
      Shell("'" ONCEMQ_SOURCE_DIR "/cmake/compile_cached' cached c++ -o x.o -c x.cc");
  EXPECT_EQ(object.out, "cached\n");
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
