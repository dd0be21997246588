// SPDX-License-Identifier: Apache-2.0
#include "explain_options.h"

#include <memory>

#include "explain_command.h"
#include "explain_id_command.h"
#include "explain_partition_command.h"

namespace oncemq {
namespace {

struct ExplainArguments {
  ServiceTarget target;
  bool json = false;
  std::string partition;
  ExplainIdArguments id;
};
using SharedExplainArguments = std::shared_ptr<ExplainArguments>;

void AddExplainTarget(CLI::App& command, const SharedExplainArguments& arguments,
                      const char* by_file, const char* by_socket) {
  CLI::Option* file = command.add_option("-c,--config", arguments->target.config, by_file);
  command.add_option("--socket", arguments->target.socket, by_socket)->excludes(file);
  command.add_flag("--json", arguments->json, "As one JSON object");
}

}  // namespace

void AddExplain(CLI::App& app, CommandActions& actions) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* explain = app.add_subcommand(
      "explain", "Explain what the service promises, and why something of it is held");
  explain->require_subcommand(1);
  explain->footer(
      "Examples:\n"
      "  oncemq explain guarantee -c service.yaml\n"
      "  oncemq explain partition payments/3 -c service.yaml\n"
      "  oncemq explain id p-17 -c service.yaml");
  CLI::App* guarantee = explain->add_subcommand(
      "guarantee", "What holds and what does not: in general, or for one service");
  AddExplainTarget(*guarantee, arguments, "By this service file",
                   "As the service that runs there says it");
  CLI::App* partition = explain->add_subcommand(
      "partition", "What a partition waits for, its lowest open message, and the next step");
  partition->add_option("partition", arguments->partition, "TOPIC/NUMBER, or 'TOPIC [NUMBER]'")
      ->required();
  CLI::App* id = explain->add_subcommand(
      "id", "Where a message is: in the window, parked, open, and who owns its partition");
  id->add_option("id", arguments->id.id, "The id")->required();
  id->add_flag("--hex", arguments->id.hex, "The id is given as hex digits, two for each byte");
  for (CLI::App* command : {partition, id}) {
    AddExplainTarget(*command, arguments, "The service file that names its socket",
                     "The socket of the running service");
  }
  partition->footer(
      "Exit codes: 1 this member does not have the partition, 2 refused, 6 no service answers "
      "there.");
  id->footer(
      "With a service file that parks, the park topics are read too.\n"
      "Exit codes: 2 refused, 6 no service answers there: `oncemq window show` needs none.");
  actions.push_back({guarantee, [arguments] {
                       return ExplainGuaranteeCommand(arguments->target, arguments->json);
                     }});
  actions.push_back({partition, [arguments] {
                       return ExplainPartitionCommand(arguments->target, arguments->partition,
                                                      arguments->json);
                     }});
  actions.push_back({id, [arguments] {
                       arguments->id.json = arguments->json;
                       return ExplainIdCommand(arguments->target, arguments->id);
                     }});
}

}  // namespace oncemq
