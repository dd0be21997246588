// SPDX-License-Identifier: Apache-2.0
// `oncemq completion`: a shell offers each command and option that the help has.
#include "completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

Words WordsOf(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

class Completion : public Command {
 protected:
  void SetUp() override { std::ofstream(script_) << Run("completion bash").out; }

  // The words that bash offers for `line`. The last word of it is at the cursor; '' if it is empty.
  Words Offered(const std::string& line) const {
    std::ofstream(ask_) << "source '" << script_.string() << "'\nCOMP_WORDS=(" << line
                        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_oncemq\n"
                        << "echo \"${COMPREPLY[@]}\"\n";
    Process bash(
        {.command = {"/bin/sh", "-c",
                     "exec bash '" + ask_.string() + "' >'" + output_.string() + "' 2>&1"}});
    EXPECT_EQ(bash.Wait(std::chrono::seconds(30)), 0) << ReadAll(output_);
    return WordsOf(ReadAll(output_));
  }

  // The commands that a help has: indented lines of one section.
  static Words CommandsIn(const std::string& text) {
    std::istringstream help(text);
    Words below;
    bool inside = false;
    for (std::string line; std::getline(help, line);) {
      inside = line == "Subcommands:" || (inside && line.starts_with("  "));
      if (inside && line.starts_with("  ") && line[2] != ' ') {
        below.push_back(WordsOf(line).front());
      }
    }
    return below;
  }

  static Words OptionsIn(const std::string& help) {
    const std::regex option("\n  (-[a-zA-Z],)?(--[a-z-]+)");
    Words options;
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
      options.push_back((*at)[2]);
    }
    return options;
  }

  // Of this command and all below it.
  void ExpectComplete(const std::string& path, const std::string& zsh) const {
    const std::string help = Run(path + " --help").out;
    const Words below = CommandsIn(help);
    if (!below.empty()) {
      EXPECT_EQ(Offered("oncemq " + path + " ''"), below) << path;
    }
    const Words offered = Offered("oncemq " + path + " -");
    const Words options = OptionsIn(help);
    EXPECT_THAT(options, Contains("--help")) << path;
    for (const std::string& option : options) {
      EXPECT_THAT(offered, Contains(option)) << path;
      EXPECT_THAT(zsh, HasSubstr("'" + option + ":")) << path;
    }
    for (const std::string& command : below) {
      const std::string deeper = path.empty() ? command : path + " " + command;
      EXPECT_THAT(zsh, HasSubstr("'oncemq " + deeper + "')\n")) << "its own case";
      ExpectComplete(deeper, zsh);
    }
  }

  const std::filesystem::path script_ = dir_.path() / "completion";
  const std::filesystem::path ask_ = dir_.path() / "ask";
  const std::filesystem::path output_ = dir_.path() / "told";
};

TEST_F(Completion, OffersEveryCommandAndOptionThatTheHelpHas) {
  EXPECT_THAT(CommandsIn(Run("--help").out), Contains("completion"));
  EXPECT_THAT(CommandsIn(Run("lock --help").out), Contains("switch"));
  const Ended zsh = Run("completion zsh");
  EXPECT_EQ(zsh.code, 0) << zsh.err;
  EXPECT_THAT(zsh.out, StartsWith("#compdef oncemq\n"));
  ExpectComplete("", zsh.out);
}

TEST_F(Completion, OffersTheBeginningsThatFit) {
  EXPECT_THAT(Offered("oncemq st"), UnorderedElementsAre("status", "store"));
  EXPECT_THAT(Offered("oncemq lock --json s"), UnorderedElementsAre("show", "switch"));
  EXPECT_THAT(Offered("oncemq check --c"), ElementsAre("--config"));
}

TEST_F(Completion, OffersTheValuesOfAnOptionOrAnArgument) {
  EXPECT_THAT(Offered("oncemq run --handler ''"), ElementsAre("print", "count"));
  EXPECT_THAT(Offered("oncemq run --handler = p"), ElementsAre("print")) << "as bash parts --a=b";
  EXPECT_THAT(Offered("oncemq completion ''"), ElementsAre("bash", "zsh"));
}

TEST_F(Completion, LeavesFilesToTheShell) {
  EXPECT_THAT(Offered("oncemq run -c ''"), ElementsAre());
  EXPECT_THAT(Offered("oncemq status serv"), ElementsAre());
  EXPECT_THAT(ReadAll(script_), HasSubstr("\ncomplete -o default -F _oncemq oncemq\n"));
}

TEST_F(Completion, AnUnknownShellIsRefused) {
  EXPECT_EQ(Run("completion").code, 2);
  EXPECT_EQ(Run("completion fish").code, 2);
}

TEST(CompletionScript, KeepsQuotesOfADescriptionApart) {
  const std::vector<CompletedCommand> tree = {
      {"oncemq", {{"run", "'' for none: $HOME"}}, {}},
      {"oncemq run", {}, {{{"-a", "--at"}, "where", true, {}}}}};
  EXPECT_THAT(ZshCompletion(tree), HasSubstr("below=('run:'\\'''\\'' for none: $HOME')"));
  EXPECT_THAT(ZshCompletion(tree), HasSubstr("    'oncemq run -a' | 'oncemq run --at') _files; "
                                             "return ;;\n"));
  EXPECT_THAT(BashCompletion(tree), HasSubstr("      options='-a --at'\n"));
}

}  // namespace
}  // namespace oncemq::testing
