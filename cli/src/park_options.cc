// SPDX-License-Identifier: Apache-2.0
#include "park_options.h"

#include <memory>

#include "park_command.h"

namespace oncemq {

void AddPark(CLI::App& app, CommandActions& actions) {
  const auto arguments = std::make_shared<ParkArguments>();
  CLI::App* park = app.add_subcommand("park", "The topics of refused messages (`reject: park`)");
  park->require_subcommand(1);
  park->footer(
      "Examples:\n"
      "  oncemq park create -c service.yaml\n"
      "  oncemq park list --json --values -c service.yaml\n"
      "\n"
      "Exit codes: 1 failed, 2 refused, 6 no broker answers.");
  CLI::App* create = park->add_subcommand("create", "Make those that are not there");
  CLI::App* list = park->add_subcommand("list", "Show the entries, in the order of their parking");
  for (CLI::App* each : {create, list}) {
    each->add_option("-c,--config", arguments->config, "The service file")->required();
    each->add_flag("--json", arguments->json, "As JSON, one object a line");
  }
  list->add_option("--limit", arguments->limit, "At most so many");
  list->add_flag("--values", arguments->values, "With --json: key, value and headers too");
  actions.push_back({create, [arguments] { return ParkCreateCommand(*arguments); }});
  actions.push_back({list, [arguments] { return ParkListCommand(*arguments); }});
}

}  // namespace oncemq
