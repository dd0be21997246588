// SPDX-License-Identifier: Apache-2.0
#include "app_tree.h"

#include <sstream>
#include <string>
#include <utility>

namespace oncemq {
namespace {

// CLI::IsMember leaves them in the description of the type alone: "TEXT:{bash,zsh}".
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.rfind('{');
  const size_t end = type.rfind('}');
  std::vector<std::string> values;
  if (begin != std::string::npos && end != std::string::npos && begin < end) {
    std::istringstream list(type.substr(begin + 1, end - begin - 1));
    for (std::string value; std::getline(list, value, ',');) {
      values.push_back(value);
    }
  }
  return values;
}

CompletedOption OptionOf(const CLI::Option& option) {
  CompletedOption out;
  for (const std::string& name : option.get_snames()) {
    out.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    out.names.push_back("--" + name);
  }
  out.about = option.get_description();
  out.takes_value = option.get_items_expected_max() > 0;
  out.values = ValuesOf(option);
  return out;
}

void AddTree(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& tree) {
  CompletedCommand command;
  command.path = path;
  const auto below = app.get_subcommands(nullptr);
  for (const CLI::App* each : below) {
    command.words.push_back({each->get_name(), each->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      command.options.push_back(OptionOf(*option));
    }
    if (option->get_positional()) {
      for (const std::string& value : ValuesOf(*option)) {
        command.words.push_back({value, option->get_description()});
      }
    }
  }
  tree.push_back(std::move(command));
  for (const CLI::App* each : below) {
    AddTree(*each, path + " " + each->get_name(), tree);
  }
}

}  // namespace

std::vector<CompletedCommand> TreeOf(const CLI::App& app) {
  std::vector<CompletedCommand> tree;
  AddTree(app, app.get_name(), tree);
  return tree;
}

}  // namespace oncemq
