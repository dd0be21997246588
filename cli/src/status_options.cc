// SPDX-License-Identifier: Apache-2.0
#include "status_options.h"

#include <memory>

#include "group_command.h"
#include "status_command.h"

namespace oncemq {
namespace {

void AddWatch(CLI::App& command, WatchArguments& arguments) {
  CLI::Option* watch =
      command.add_flag("--watch", arguments.watch,
                       "Look again and again: a table on a terminal, else the lines that change");
  command.add_option("--every", arguments.every, "The pause between two looks: 1s if not said")
      ->needs(watch);
}

}  // namespace

void AddStatus(CLI::App& app, CommandActions& actions) {
  struct Arguments {
    ServiceTarget target;
    StatusArguments status;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* status = app.add_subcommand("status", "Say what a running service is doing");
  CLI::Option* file = status->add_option("-c,--config,service.yaml", arguments->target.config,
                                         "The service file that names its socket");
  status->add_option("--socket", arguments->target.socket, "The socket of the running service")
      ->excludes(file);
  status->add_flag("--json", arguments->status.json, "As one JSON object; with --watch one a line");
  status->add_option("--stalled-after", arguments->status.stalled_after,
                     "A partition with something to do that finishes nothing for so long does not "
                     "move: 60s if nothing is said");
  AddWatch(*status, arguments->status.watch);
  status->footer(
      "Exit codes: 1 a partition is stopped, or something does not move: the last lines say what;\n"
      "2 refused, 6 no service answers there.");
  actions.push_back(
      {status, [arguments] { return StatusCommand(arguments->target, arguments->status); }});
}

void AddGroup(CLI::App& app, CommandActions& actions) {
  const auto arguments = std::make_shared<GroupArguments>();
  CLI::App* group = app.add_subcommand("group", "The group of a service, seen from outside");
  group->require_subcommand(1);
  CLI::App* status = group->add_subcommand(
      "status", "Show members, commits, lag and the durable sums; no member has to run");
  CLI::Option* file = status->add_option("-c,--config,service.yaml", arguments->config,
                                         "The service file: brokers, group and topics");
  for (CLI::Option* option :
       {status->add_option("--brokers", arguments->brokers,
                           "host:port, without TLS and login; several with commas"),
        status->add_option("--group", arguments->group, "The group"),
        status->add_option("--topics", arguments->topics, "Its topics, with commas")
            ->delimiter(',')}) {
    option->excludes(file);
  }
  status->add_flag("--json", arguments->json, "As one JSON object; with --watch one a line");
  AddWatch(*status, arguments->watch);
  status->footer(
      "Examples:\n"
      "  oncemq group status -c service.yaml\n"
      "  oncemq group status -c service.yaml --watch --every 5s\n"
      "  oncemq group status --brokers k1:9092 --group payments --topics orders,refunds --json\n"
      "\n"
      "Exit codes: 1 something does not move, 4 the sums do not add up: the last lines say what;\n"
      "2 refused, 6 no broker answers.");
  actions.push_back({status, [arguments] { return GroupStatusCommand(*arguments); }});
}

}  // namespace oncemq
