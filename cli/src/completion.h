// SPDX-License-Identifier: Apache-2.0
// `oncemq completion`: scripts by which a shell completes commands, options and their values. They
// are made from the command's own tree (app_tree.h), so they never miss a part of it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace oncemq {

struct CompletedWord {
  std::string word;
  std::string about;  // for shells that show it
};

struct CompletedOption {
  std::vector<std::string> names;  // with their dashes
  std::string about;
  bool takes_value = false;
  std::vector<std::string> values;  // all that it takes; none: any, and files are offered
};

struct CompletedCommand {
  std::string path;                  // "oncemq lock ls"; the first command is the program
  std::vector<CompletedWord> words;  // its commands, or all values of its argument
  std::vector<CompletedOption> options;
};

// For `source <(oncemq completion bash)`. Where neither a command nor a value is known, files.
std::string BashCompletion(std::span<const CompletedCommand> commands);

// For a file `_oncemq` in a folder of $fpath, or `source <(oncemq completion zsh)`.
std::string ZshCompletion(std::span<const CompletedCommand> commands);

}  // namespace oncemq
