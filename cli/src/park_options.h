// SPDX-License-Identifier: Apache-2.0
// The commands of a tree, and those of `oncemq park`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

namespace oncemq {

// A command of the tree, and the call that it is; the call gives the exit code.
struct CommandAction {
  const CLI::App* command;
  std::function<int()> run;
};
using CommandActions = std::vector<CommandAction>;

void AddPark(CLI::App& app, CommandActions& actions);

}  // namespace oncemq
