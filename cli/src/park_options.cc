// SPDX-License-Identifier: Apache-2.0
#include "park_options.h"

#include <memory>

#include "park_command.h"
#include "park_message_command.h"

namespace oncemq {
namespace {

using SharedArguments = std::shared_ptr<ParkArguments>;

void AddFilter(CLI::App* command, const SharedArguments& arguments) {
  ParkFilter& filter = arguments->filter;
  const std::string group = "Which ones";
  command->add_option("--topic", filter.topic, "Of this topic")->group(group);
  command->add_option("--partition", filter.partition, "Of this partition")->group(group);
  command->add_option("--offset", filter.offset, "At this offset of its topic, as `list` shows it")
      ->group(group);
  command->add_option("--key", filter.key, "With this key")->group(group);
  command->add_option("--header", filter.header, "With this header, as NAME=VALUE")->group(group);
  command->add_option("--why", filter.why, "With this text in the reason of its head")
      ->group(group);
  command->add_option("--older", filter.older, "Older than this by its own time, as 2h")
      ->group(group);
  command->add_option("--younger", filter.younger, "Younger than this")->group(group);
}

void AddGo(CLI::App* command, const SharedArguments& arguments) {
  command->add_flag("--go", arguments->go, "Do it, else it is only counted");
  command->add_option(
      "--count", arguments->count,
      "With --go: the number of messages, asked for above 1,000 and by a drop of all");
  command->add_option("--per-second", arguments->per_second, "Commands at most")
      ->check(CLI::Range(1u, 100'000u));
  command->add_option("--patience", arguments->patience,
                      "Leave when nothing has moved for so long; the commands stay in force");
}

void AddMessage(CLI::App* command, ParkMessageArguments& arguments) {
  const std::string group = "Which one";
  command->add_option("--topic", arguments.topic, "Its topic, where the service has several")
      ->group(group);
  command->add_option("--partition", arguments.partition, "Its partition")->group(group);
  command->add_option("--offset", arguments.offset, "Its offset in the topic")->group(group);
  command->add_option("-c,--config", arguments.config, "The service file")->required();
  command->add_flag("--json", arguments.json, "As JSON, one object");
}

void AddShow(CLI::App* park, CommandActions& actions) {
  const auto arguments = std::make_shared<ParkMessageArguments>();
  CLI::App* show =
      park->add_subcommand("show", "Show one message whole, with its history, also after its end");
  AddMessage(show, *arguments);
  show->add_option("--id", arguments->id, "By its id instead; the first one of several")
      ->group("Which one");
  show->add_option("--value", arguments->value, "Write the bytes of its value to this file");
  actions.push_back({show, [arguments] { return ParkShowCommand(*arguments); }});
}

void AddEdit(CLI::App* park, CommandActions& actions) {
  const auto arguments = std::make_shared<ParkMessageArguments>();
  CLI::App* edit = park->add_subcommand(
      "edit", "Give a parked message another value or headers; key and id stay");
  AddMessage(edit, *arguments);
  edit->add_option("--value", arguments->value, "The value: the bytes of this file");
  edit->add_option("--header", arguments->headers,
                   "NAME=VALUE, in the place of all headers of that name");
  edit->add_option("--drop-header", arguments->drop_headers, "Without the headers of this name");
  edit->add_option("--run", arguments->run, "Names this edit; made up where it is not said");
  edit->add_flag("--go", arguments->go, "Do it, else it only shows the difference");
  actions.push_back({edit, [arguments] { return ParkEditCommand(*arguments); }});
}

}  // namespace

void AddPark(CLI::App& app, CommandActions& actions) {
  const auto arguments = std::make_shared<ParkArguments>();
  CLI::App* park = app.add_subcommand("park", "The topics of refused messages (`reject: park`)");
  park->require_subcommand(1);
  park->footer(
      "Examples:\n"
      "  oncemq park create -c service.yaml\n"
      "  oncemq park list --why 'no account' -c service.yaml\n"
      "  oncemq park show --partition 3 --offset 17 -c service.yaml\n"
      "  oncemq park edit --partition 3 --offset 17 --value fixed.json --go -c service.yaml\n"
      "  oncemq park redrive --why 'no account' --run ticket-7 --go -c service.yaml\n"
      "\n"
      "A command is a record of the park topic, and the owner of the partition carries it out.\n"
      "Exit codes: 1 failed, 2 refused, 3 some messages were refused again, were left out, or\n"
      "have no outcome yet, or an edit came too late, 6 no broker answers.");
  CLI::App* create = park->add_subcommand("create", "Make those that are not there");
  CLI::App* list = park->add_subcommand("list", "Show what is parked, each key in its order");
  AddShow(park, actions);
  AddEdit(park, actions);
  CLI::App* redrive = park->add_subcommand(
      "redrive", "Run messages again, with those that follow them, in the order of their key");
  CLI::App* drop = park->add_subcommand("drop", "Give messages up; those that follow them stay");
  CLI::App* cancel = park->add_subcommand("cancel", "End the redrives of a run");
  for (CLI::App* each : {create, list, redrive, drop, cancel}) {
    each->add_option("-c,--config", arguments->config, "The service file")->required();
    each->add_flag("--json", arguments->json, "As JSON, one object a line");
  }
  list->add_option("--limit", arguments->limit, "At most so many");
  list->add_flag("--groups", arguments->groups,
                 "Only the reasons, with the number of messages and the oldest one");
  list->add_flag("--values", arguments->values, "With --json: key, value and headers too");
  for (CLI::App* each : {list, redrive, drop}) {
    AddFilter(each, arguments);
  }
  for (CLI::App* each : {redrive, drop}) {
    AddGo(each, arguments);
  }
  for (CLI::App* each : {redrive, cancel}) {
    each->add_option("--run", arguments->run, "Names this run; made up where it is not said");
  }
  cancel->get_option("--run")->required()->description("The run");
  redrive->add_option("--most-redrives", arguments->most_redrives,
                      "Leave those out that were refused again so often");
  redrive->add_flag("--rerun-uncertain", arguments->rerun_uncertain,
                    "At the level opaque: also those whose handler may have had its effect");
  actions.push_back({create, [arguments] { return ParkCreateCommand(*arguments); }});
  actions.push_back({list, [arguments] { return ParkListCommand(*arguments); }});
  const auto send = [&](CLI::App* command, ParkCommand::Kind kind) {
    actions.push_back({command, [arguments, kind] { return ParkSendCommand(*arguments, kind); }});
  };
  send(redrive, ParkCommand::Kind::kRedrive);
  send(drop, ParkCommand::Kind::kDrop);
  send(cancel, ParkCommand::Kind::kCancel);
}

}  // namespace oncemq
