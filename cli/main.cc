// SPDX-License-Identifier: Apache-2.0
// The command `oncemq`. Results go to standard output, talk and errors to standard error; the exit
// code is one of src/exit_code.h.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "check_command.h"
#include "edit_distance.h"
#include "exit_code.h"
#include "explain_command.h"
#include "lock_command.h"
#include "oncemq/base/raise_record.h"
#include "run_command.h"
#include "safe_json.h"
#include "status_command.h"
#include "store_command.h"
#include "window_command.h"
#include "window_stat_command.h"

namespace oncemq {
namespace {

struct Arguments {
  std::string config;
  std::string handler = "print";
  bool json = false;
  ServicePlace place;     // of the commands that may ask a running service
  std::string directory;  // of stores, where no service runs
  WindowShowArguments show;
  LockArguments lock;
  StoreArguments store;

  WindowPlace window_place() const { return {place, directory}; }
};

CLI::App* AddRun(CLI::App& app, Arguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Run a service until it is asked to stop");
  run->add_option("-c,--config", arguments.config, "The service file")->required();
  run->add_option("--handler", arguments.handler,
                  "print: a line for each applied message, never its payload. count: only the sums")
      ->check(CLI::IsMember({"print", "count"}))
      ->capture_default_str();
  run->add_flag("--json", arguments.json, "The report at the end as one JSON object");
  run->footer(
      "Exit codes: 1 failed, 2 refused, 4 the sums do not add up, 5 no broker was reached or no\n"
      "partition has begun, 7 a partition was stopped, 8 ended at once by a second signal,\n"
      "130 and 143 stopped by SIGINT or SIGTERM in order.");
  return run;
}

CLI::App* AddCheck(CLI::App& app, Arguments& arguments) {
  CLI::App* check =
      app.add_subcommand("check", "Say what is wrong with a service file, or what it means");
  check->add_option("-c,--config", arguments.config, "The service file")->required();
  check->add_flag("--json", arguments.json, "The findings as one JSON object");
  return check;
}

// Which running service is asked.
void AddPlace(CLI::App& command, const std::string& config, ServicePlace& place) {
  CLI::Option* file =
      command.add_option(config, place.config, "The service file that names its socket");
  command.add_option("--socket", place.socket, "The socket of the running service")->excludes(file);
  command.footer("Exit codes: 2 refused, 6 no service answers there.");
}

CLI::App* AddStatus(CLI::App& app, Arguments& arguments) {
  CLI::App* status = app.add_subcommand("status", "Say what a running service is doing");
  AddPlace(*status, "-c,--config,service.yaml", arguments.place);
  status->add_flag("--json", arguments.json, "As one JSON object");
  return status;
}

// Whose window is looked into.
void AddWindowPlace(CLI::App& command, Arguments& arguments) {
  CLI::Option* file =
      command.add_option("-c,--config", arguments.place.config,
                         "The service file: its socket, or its directory where no service answers");
  CLI::Option* socket =
      command.add_option("--socket", arguments.place.socket, "The socket of the running service")
          ->excludes(file);
  command
      .add_option("--directory", arguments.directory,
                  "Stores on disk: of all topics, of one, or one store; who holds one is asked")
      ->excludes(file)
      ->excludes(socket);
  command.add_flag("--json", arguments.json, "As one JSON object");
  command.footer(
      "Exit codes: 1 a store is damaged, 2 refused, 6 no service answers there, or a process "
      "holds\n"
      "the store and cannot be asked.");
}

// The command that `stat` is.
const CLI::App* AddWindow(CLI::App& app, Arguments& arguments) {
  CLI::App* window = app.add_subcommand(
      "window", "Look into the window of a running service, or of a stopped one");
  window->require_subcommand(1);
  CLI::App* stat = window->add_subcommand("stat", "What it holds, store by store");
  AddWindowPlace(*stat, arguments);
  CLI::App* show = window->add_subcommand("show", "What it keeps of one id");
  show->add_option("id", arguments.show.id, "The id")->required();
  show->add_flag("--hex", arguments.show.hex, "The id is given as hex digits, two for each byte");
  AddWindowPlace(*show, arguments);
  return stat;
}

// Which catalogue of stores, and who asks there.
void AddCatalogue(CLI::App& command, CatalogueArguments& from, bool positional = false) {
  command.add_option(positional ? "catalogue,--catalogue" : "--catalogue", from.file,
                     "The catalogue of stores; or ONCEMQ_CATALOGUE");
  command.add_option("--application", from.application, "Who asks there; or ONCEMQ_APPLICATION");
  command.add_option("--secret-file", from.secret_file,
                     "A file of mode 0600 with its secret; or ONCEMQ_SECRET_FILE, ONCEMQ_SECRET");
}

void AddScope(CLI::App& command, CatalogueArguments& from) {
  AddCatalogue(command, from);
  command.add_option("--scope", from.scope, "Of the application, as the catalogue gives it");
}

struct StoreCommand {
  const CLI::App* command;
  int (*run)(const StoreArguments&);
};

std::vector<StoreCommand> AddStore(CLI::App& app, StoreArguments& arguments) {
  CLI::App* store = app.add_subcommand("store", "Look into a catalogue of stores, and grant");
  store->require_subcommand(1);
  CLI::App* check = store->add_subcommand("check", "What a catalogue says, or what is wrong in it");
  check->add_option("catalogue,--catalogue", arguments.from.file, "The catalogue of stores");
  CLI::App* enrol = store->add_subcommand(
      "register", "The line of an application for the catalogue; its secret is made if missing");
  enrol->add_option("application", arguments.from.application, "Its name")->required();
  enrol->add_option("--secret-file", arguments.from.secret_file, "Where its secret is, or is made")
      ->required();
  CLI::App* grants = store->add_subcommand(
      "grants", "What the stores have to be told of an application; nothing is applied");
  AddCatalogue(*grants, arguments.from, true);
  grants->add_option("--store", arguments.store, "This store alone, to be piped to its client");
  for (CLI::App* command : {check, grants}) {
    command->add_flag("--json", arguments.json, "As JSON, one object a line");
  }
  return {{check, StoreCheckCommand}, {enrol, StoreRegisterCommand}, {grants, StoreGrantsCommand}};
}

using LockAction = int (*)(const LockArguments&);

struct LockCommand {
  const CLI::App* command;
  LockAction run;
};

void AddSpace(CLI::App& command, LockArguments& arguments, const std::string& none) {
  command
      .add_option("--space", arguments.space,
                  "The space of the names, as their services say it; " + none)
      ->each([&](const std::string&) { arguments.space_said = true; });
}

void AddLockSwitch(CLI::App& command, LockArguments& arguments) {
  command.add_option("store", arguments.name, "The store that is to come into force");
  command.add_flag("--next", arguments.next, "The next one in order");
  command.add_flag(
      "--planned-only", arguments.planned_only,
      "Fail where a planned switch is not possible from here. By default that is a "
      "drain: nothing is granted, but to the fenced, until the holders' leases are over");
  command.add_flag("--call-off", arguments.call_off, "Call off the switch that is under way");
  command.add_option("--record", arguments.record,
                     "Where the switch record is: file:/directory, etcd://host or the like; with a "
                     "password: ONCEMQ_RECORD");
  command.add_option("--store", arguments.stores,
                     "NAME=ADDRESS of each store, in their order; with passwords: ONCEMQ_STORES, "
                     "with blanks between them");
  AddSpace(command, arguments, "'' for those that say none");
  command
      .add_option("--name", arguments.board,
                  "Of the switchboard, where its services say another one than this")
      ->capture_default_str()
      ->each([&](const std::string&) { arguments.board_said = true; });
  CLI::Option* first =
      command
          .add_option("--first-epoch", arguments.first_epoch,
                      "Raise a record that was lost or went back, or begin one: above every epoch "
                      "that its stores know")
          ->check(CLI::Range(1u, kHighestRaise));
  command
      .add_option("--longest", arguments.longest,
                  "Seconds of the longest lease that it allows: 30 if it is begun, else as it is")
      ->check(CLI::Range(1u, 86'400u))
      ->needs(first);
  AddScope(command, arguments.from);
  command.add_option("--why", arguments.why, "For people who look");
  command.footer("Exit codes: 1 failed, 2 refused, 6 no answer there.");
}

std::vector<LockCommand> AddLock(CLI::App& app, LockArguments& arguments) {
  CLI::App* lock = app.add_subcommand("lock", "Look at locks, and take one away");
  lock->require_subcommand(1);
  std::vector<LockCommand> commands;
  const auto add = [&](const char* name, const char* what, LockAction run) {
    CLI::App* command = lock->add_subcommand(name, what);
    command->add_flag("--json", arguments.json, "As JSON, one object a line");
    commands.push_back({command, run});
    return command;
  };
  add("engines", "What engines there are, and what each can do", LockEnginesCommand);
  CLI::App* ls = add("ls", "Names that are held or waited for", LockLsCommand);
  ls->add_option("--after", arguments.after, "Those behind this name");
  ls->add_option("--limit", arguments.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  CLI::App* show = add("show", "Who holds a name, and who waits for it", LockShowCommand);
  CLI::App* ask_back =
      add("ask-back", "Ask the holders of a name to give it back", LockAskBackCommand);
  CLI::App* release = add("release", "End a hold, by its fence", LockReleaseCommand);
  release->add_option("--fence", arguments.fence, "The fence that `show` prints")->required();
  CLI::App* election =
      add("election", "Who leads by a name, and who stands by", LockElectionCommand);
  election->add_flag("--resign", arguments.resign, "Ask the leader to resign");
  CLI::App* bench =
      add("bench", "What a lock costs there, with 1, 8 and 64 contenders", LockBenchCommand);
  bench->add_option("--seconds", arguments.seconds, "For each of the three")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  AddLockSwitch(*add("switch", "Where a switch of stores stands; begin one, or call it off",
                     LockSwitchCommand),
                arguments);
  for (CLI::App* command : {ls, show, ask_back, release, election, bench}) {
    command->add_option("--at", arguments.at,
                        "redis://host:port or the like; with a password: in ONCEMQ_LOCKS");
    AddSpace(*command, arguments, "none if they do not");
    AddScope(*command, arguments.from);
    if (command != ls && command != bench) {
      command->add_option("name", arguments.name, "The name")->required();
    }
    if (command != bench) {
      command->add_flag("--hex", arguments.hex,
                        std::string(command == ls ? "--after" : "The name") +
                            " is given as hex digits, two for each byte");
    }
    const bool only_looks = command == ls || command == show;
    command->footer(std::string("Exit codes: ") +
                    (only_looks ? "0 also if nothing is held, 1" : "1 nothing was held, or") +
                    " failed, 2 refused, 6 no answer there.");
  }
  return commands;
}

CLI::App* AddExplain(CLI::App& app, Arguments& arguments) {
  CLI::App* explain = app.add_subcommand("explain", "Explain what the service promises");
  explain->require_subcommand(1);
  CLI::App* guarantee = explain->add_subcommand(
      "guarantee", "What holds and what does not: in general, or for one service");
  CLI::Option* file =
      guarantee->add_option("-c,--config", arguments.place.config, "By this service file");
  guarantee
      ->add_option("--socket", arguments.place.socket, "As the service that runs there says it")
      ->excludes(file);
  return explain;
}

constexpr char kVersion[] = "oncemq " ONCEMQ_VERSION;

int PrintVersion(bool json) {
  std::cout << (json ? "{\"name\":\"oncemq\",\"version\":\"" ONCEMQ_VERSION "\"}" : kVersion)
            << "\n";
  return kExitDone;
}

// CLI11 would only say that a command is missing. `at`: which argument names one of `app`'s.
bool IsUnknownCommand(const CLI::App& app, int argc, char** argv, int at = 1) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    known.push_back(command->get_name());
  }
  if (argc <= at || argv[at][0] == '-' || known.empty()) {
    return false;
  }
  const std::string name = argv[at];
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return IsUnknownCommand(*app.get_subcommand(name), argc, argv, at + 1);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::cerr << (at == 1 ? "oncemq" : "oncemq " + app.get_name()) << " has no command "
            << SafeJson(name) << DidYouMean(name, names) << "\n";
  return true;
}

int Main(int argc, char** argv) {
  CLI::App app("Effectively-once effects from at-least-once delivery", "oncemq");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  oncemq check -c service.yaml\n"
      "  oncemq explain guarantee -c service.yaml\n"
      "  oncemq run -c service.yaml --handler count\n"
      "  oncemq status service.yaml\n"
      "  oncemq window show ID --socket /run/payments/admin.sock\n"
      "  oncemq window stat -c service.yaml\n"
      "  oncemq lock show NAME --at redis://localhost --space payments\n"
      "  oncemq lock switch b --record file:/etc/locks --store a=redis://h1 --store b=redis://h2 "
      "--space payments");
  app.set_version_flag("--version", kVersion, "Print the version, as the command `version` does");
  Arguments arguments;
  const CLI::App* run = AddRun(app, arguments);
  const CLI::App* check = AddCheck(app, arguments);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->add_flag("--json", arguments.json, "As a JSON object");
  const CLI::App* explain = AddExplain(app, arguments);
  const CLI::App* status = AddStatus(app, arguments);
  const CLI::App* stat = AddWindow(app, arguments);
  const std::vector<LockCommand> locks = AddLock(app, arguments.lock);
  const std::vector<StoreCommand> stores = AddStore(app, arguments.store);
  if (IsUnknownCommand(app, argc, argv)) {
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  if (run->parsed()) {
    return RunCommand({arguments.config, arguments.handler, arguments.json});
  }
  if (check->parsed()) {
    return CheckCommand(arguments.config, arguments.json);
  }
  if (version->parsed()) {
    return PrintVersion(arguments.json);
  }
  if (explain->parsed()) {
    return ExplainGuaranteeCommand(arguments.place);
  }
  if (status->parsed()) {
    return StatusCommand(arguments.place, arguments.json);
  }
  if (stat->parsed()) {
    return WindowStatCommand(arguments.window_place(), arguments.json);
  }
  for (const LockCommand& lock : locks) {
    if (lock.command->parsed()) {
      return lock.run(arguments.lock);
    }
  }
  for (const StoreCommand& store : stores) {
    if (store.command->parsed()) {
      return store.run(arguments.store);
    }
  }
  arguments.show.json = arguments.json;
  return WindowShowCommand(arguments.window_place(), arguments.show);
}

}  // namespace
}  // namespace oncemq

int main(int argc, char** argv) {
  try {
    return oncemq::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "oncemq: " << error.what() << "\n";
    return oncemq::kExitFailed;
  }
}
