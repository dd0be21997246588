// SPDX-License-Identifier: Apache-2.0
// The command `oncemq`. Results go to standard output, talk and errors to standard error; the exit
// code is one of src/exit_code.h.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "app_tree.h"
#include "check_command.h"
#include "completion.h"
#include "doctor_command.h"
#include "edit_distance.h"
#include "exit_code.h"
#include "explain_options.h"
#include "gate_command.h"
#include "lock_command.h"
#include "metrics_options.h"
#include "oncemq/base/raise_record.h"
#include "park_options.h"
#include "replay_options.h"
#include "run_command.h"
#include "safe_json.h"
#include "status_options.h"
#include "store_command.h"
#include "window_change_command.h"
#include "window_command.h"
#include "window_stat_command.h"
#include "window_uncertain_command.h"

namespace oncemq {
namespace {

struct Arguments {
  CheckArguments check;
  DoctorArguments doctor;
  RunArguments run;
  bool json = false;
  std::string shell;      // of completion
  ServiceTarget target;   // of the commands that may ask a running service
  std::string directory;  // of stores, where no service runs
  WindowShowArguments show;
  WindowUncertainArguments uncertain;
  WindowChangeArguments change;
  GateArguments gate;
  LockArguments lock;
  StoreArguments store;
  MigrateArguments migrate;

  WindowTarget window_target() const { return {target, directory}; }
};

constexpr char kAboutRun[] =
    "Both handlers only watch. A watch is a consumer group of its own, named\n"
    "<group>.watch.<8 hex digits>, with a window in memory. It commits nothing to the group of\n"
    "the service, and leaves alone its window, locks, admin socket, file of refused messages and\n"
    "log file. It begins where `kafka.start` of the service file says; the default is the start\n"
    "of the log. The broker forgets the group of a watch by itself.\n"
    "\n"
    "Exit codes: 1 failed, 2 refused, 4 the sums do not add up, 5 no broker was reached or no\n"
    "partition has begun, 7 a partition was stopped, 8 ended at once by a second signal,\n"
    "130 and 143 stopped by SIGINT or SIGTERM in order.";

void AddRun(CLI::App& app, RunArguments& arguments, CommandActions& actions) {
  CLI::App* run =
      app.add_subcommand("run", "Watch the messages of a service, until it is asked to stop");
  run->add_option("-c,--config", arguments.config, "The service file")->required();
  // That it must be said, the command itself tells, with the reason.
  run->add_option(
         "--handler", arguments.handler,
         "Must be said. print: a line for each message, never its payload. count: sums only")
      ->check(CLI::IsMember({"print", "count"}));
  run->add_flag("--json", arguments.json, "The report at the end as one JSON object");
  CLI::Option* only_new =
      run->add_flag("--only-new", arguments.only_new, "Watch the messages that arrive from now on");
  run->add_flag("--consume-without-effects", arguments.takes_messages,
                "No watch: join the group of the service, commit, and mark ids as done in its "
                "window, though no effect is made. The service does not get these messages")
      ->excludes(only_new);
  run->footer(kAboutRun);
  actions.push_back({run, [&] { return RunCommand(arguments); }});
}

void AddCheck(CLI::App& app, CheckArguments& arguments, CommandActions& actions) {
  CLI::App* check =
      app.add_subcommand("check", "Say what is wrong with a service file, or what it means");
  check->add_option("-c,--config,service.yaml", arguments.config, "The service file");
  check->add_flag("--json", arguments.json, "The findings as one JSON object");
  check->add_flag("--offline", arguments.offline,
                  "Do not ask the server of a window in PostgreSQL or Redis");
  check->footer(
      "Only the file is looked at, and the server of its window. A start also compares the group's "
      "commits and the stores on disk; `oncemq doctor` asks brokers and servers.\n"
      "Exit codes: 1 the server of the window failed, 2 refused, 6 it does not answer.");
  actions.push_back({check, [&] { return CheckCommand(arguments); }});
}

void AddDoctor(CLI::App& app, DoctorArguments& arguments, CommandActions& actions) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Ask the servers of a service how they are, and name settings that lower its guarantee");
  doctor->add_option("-c,--config,service.yaml", arguments.config, "The service file");
  doctor->add_flag("--json", arguments.json, "The findings as one JSON object");
  doctor->footer(
      "Examples:\n"
      "  oncemq doctor service.yaml\n"
      "  oncemq doctor --json -c service.yaml\n"
      "\n"
      "It makes 100 claims in a scope of its own, which it removes.\n"
      "\n"
      "Exit codes, of the first part that is not well: 1 the work would stand still, 2 refused,\n"
      "6 it does not answer.");
  actions.push_back({doctor, [&] { return DoctorCommand(arguments); }});
}

// Whose window is looked into.
void AddWindowTarget(CLI::App& command, Arguments& arguments) {
  CLI::Option* file =
      command.add_option("-c,--config", arguments.target.config,
                         "The service file: its socket, or its directory where no service answers; "
                         "or the server of its window");
  CLI::Option* socket =
      command.add_option("--socket", arguments.target.socket, "The socket of the running service")
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
      "the store and cannot be asked, or the server does not answer.");
}

// Changes by an operator, of a window that all members share.
void AddWindowChanges(CLI::App& window, Arguments& arguments, CommandActions& actions) {
  constexpr char kCodes[] =
      "Exit codes: 1 it failed, or the id was left alone, 2 refused, 6 the server does not "
      "answer.";
  CLI::App* forget = window.add_subcommand(
      "forget", "Make a finished or parked id new, in PostgreSQL or Redis: its next delivery runs");
  WindowChangeArguments& change = arguments.change;
  forget->add_option("id", change.id, "The id")->required();
  forget->add_option("-c,--config", change.config, "The service file")->required();
  forget->add_option("--why", change.why, "The reason, for the log")->required();
  forget->add_flag("--hex", change.hex, "The id is given as hex digits, two for each byte");
  forget->add_flag("--json", change.json, "As one JSON object");
  forget->footer(kCodes);
  CLI::App* gc = window.add_subcommand(
      "gc", "Drop ids that have aged, in PostgreSQL or Redis, at once instead of by and by");
  gc->add_option("-c,--config", change.config, "The service file")->required();
  gc->footer(kCodes);
  gc->add_flag("--json", change.json, "As one JSON object");
  CLI::App* shorten = window.add_subcommand(
      "shorten",
      "Keep ids only for as long as the file says, in all processes; a longer time is refused");
  shorten->add_option("-c,--config", change.config, "The service file")->required();
  shorten->add_option("--why", change.why, "The reason, for the log")->required();
  shorten->footer(
      "A window on disk: the stores on this host, once no process holds them.\n"
      "Exit codes: 1 it failed, 2 refused, 6 a process holds a store, or the server does not "
      "answer.");
  actions.push_back({forget, [&] { return WindowForgetCommand(arguments.change); }});
  actions.push_back({gc, [&] { return WindowGcCommand(arguments.change); }});
  actions.push_back({shorten, [&] { return WindowShortenCommand(arguments.change); }});
}

void AddWindow(CLI::App& app, Arguments& arguments, CommandActions& actions) {
  CLI::App* window = app.add_subcommand(
      "window", "Look into the window of a running service, or of a stopped one");
  window->require_subcommand(1);
  window->footer(
      "Examples:\n"
      "  oncemq window stat -c service.yaml\n"
      "  oncemq window show ID --socket /run/payments/admin.sock\n"
      "  oncemq window uncertain --since 24h -c service.yaml\n"
      "  oncemq window forget ID --why 'refund booked twice' -c service.yaml");
  CLI::App* stat = window->add_subcommand("stat", "What it holds, store by store");
  AddWindowTarget(*stat, arguments);
  CLI::App* show = window->add_subcommand("show", "What it keeps of one id");
  show->add_option("id", arguments.show.id, "The id")->required();
  show->add_flag("--hex", arguments.show.hex, "The id is given as hex digits, two for each byte");
  AddWindowTarget(*show, arguments);
  CLI::App* uncertain = window->add_subcommand(
      "uncertain", "List the messages whose effect may have happened more than once");
  uncertain->add_option("--since", arguments.uncertain.since,
                        "With a call since then: 24h before now, or 2026-11-27T10:00:00Z");
  AddWindowTarget(*uncertain, arguments);
  actions.push_back({uncertain, [&] {
                       arguments.uncertain.json = arguments.json;
                       return WindowUncertainCommand(arguments.window_target(),
                                                     arguments.uncertain);
                     }});
  actions.push_back(
      {stat, [&] { return WindowStatCommand(arguments.window_target(), arguments.json); }});
  actions.push_back({show, [&] {
                       arguments.show.json = arguments.json;
                       return WindowShowCommand(arguments.window_target(), arguments.show);
                     }});
  AddWindowChanges(*window, arguments, actions);
}

void AddGateTarget(CLI::App& command, GateArguments& arguments) {
  command.add_option("ref", arguments.ref, "The operation, as answers of the gate name it")
      ->required();
  CLI::Option* file =
      command.add_option("-c,--config", arguments.config, "The service file with its window");
  command
      .add_option("--at", arguments.at,
                  "postgres://user@host:port/database or redis://host of the window; with a "
                  "password: in ONCEMQ_WINDOW")
      ->excludes(file);
  command.add_option("--schema", arguments.schema, "Of its tables: oncemq if nothing is said")
      ->excludes(file);
  command.add_option("--prefix", arguments.prefix, "Of its keys: oncemq if nothing is said")
      ->excludes(file);
  command.add_option("--scope", arguments.scope, "Of the window, as the gate has it")
      ->excludes(file);
  command.add_option("--level", arguments.level, "Of the window: opaque if nothing is said")
      ->check(CLI::IsMember({"guarded", "opaque"}))
      ->excludes(file);
}

void AddGate(CLI::App& app, GateArguments& arguments, CommandActions& actions) {
  CLI::App* gate = app.add_subcommand(
      "gate", "An operation of a gate whose window is on a server: look, and resolve");
  gate->require_subcommand(1);
  gate->footer(
      "Examples:\n"
      "  oncemq gate show REF --at redis://localhost --scope orders\n"
      "  oncemq gate resolve REF -c service.yaml --not-applied --why 'not in the statement'");
  CLI::App* show = gate->add_subcommand("show", "What is on record of an operation");
  AddGateTarget(*show, arguments);
  show->add_flag("--json", arguments.json, "As one JSON object");
  show->footer(
      "Exit codes: 1 nothing is known of it, 2 refused, or there is no such window,\n"
      "6 the server does not answer.");
  CLI::App* resolve =
      gate->add_subcommand("resolve", "Say whether an operation without an outcome has happened");
  AddGateTarget(*resolve, arguments);
  CLI::Option* applied =
      resolve->add_flag("--applied", arguments.applied, "It has: copies are told so for ever");
  resolve->add_flag("--not-applied", arguments.not_applied, "It has not: the next call runs it")
      ->excludes(applied);
  resolve->add_flag("--json", arguments.json, "As one JSON object");
  resolve->add_option("--why", arguments.why, "The reason, for the log")->required();
  resolve->add_option("--audit-file", arguments.audit_file, "Append a line to it, too");
  resolve->footer(
      "Exit codes: 1 it failed, or the operation is finished, unknown or held, 2 refused, or\n"
      "there is no such window, 6 the server does not answer.");
  actions.push_back({show, [&] { return GateShowCommand(arguments); }});
  actions.push_back({resolve, [&] { return GateResolveCommand(arguments); }});
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

void AddMigrate(CLI::App& store, MigrateArguments& arguments, CommandActions& actions) {
  CLI::App* migrate = store.add_subcommand(
      "migrate", "Make the tables of a window in PostgreSQL; those that are there stay");
  CLI::Option* file =
      migrate->add_option("-c,--config", arguments.config, "The service file with that window");
  migrate
      ->add_option("--at", arguments.at,
                   "postgres://user@host:port/database. An address with a password stands in the "
                   "environment instead, as ONCEMQ_WINDOW")
      ->excludes(file);
  migrate->add_option("--schema", arguments.schema, "Of the tables: oncemq if nothing is said")
      ->excludes(file);
  migrate->add_flag("--print", arguments.print, "Only print the statements; nothing is asked");
  migrate->footer("Exit codes: 1 failed, 2 refused, 6 no answer there.");
  actions.push_back({migrate, [&] { return StoreMigrateCommand(arguments); }});
}

void AddStore(CLI::App& app, StoreArguments& arguments, MigrateArguments& migrate,
              CommandActions& actions) {
  CLI::App* store = app.add_subcommand(
      "store", "Look into a catalogue of stores, and grant; make the tables of a window");
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
  actions.push_back({check, [&] { return StoreCheckCommand(arguments); }});
  actions.push_back({enrol, [&] { return StoreRegisterCommand(arguments); }});
  actions.push_back({grants, [&] { return StoreGrantsCommand(arguments); }});
  AddMigrate(*store, migrate, actions);
}

CLI::Option* AddSpace(CLI::App& command, LockArguments& arguments, const std::string& none) {
  return command
      .add_option("--space", arguments.space,
                  "The space of the names, as their services say it; " + none)
      ->each([&](const std::string&) { arguments.space_said = true; });
}

// Where several stores are switched. `board`: the option for the name of the switchboard.
void AddRecord(CLI::App& command, LockArguments& arguments, const std::string& board) {
  command.add_option("--record", arguments.record,
                     "Where the switch record is: file:/directory, etcd://host or the like; with a "
                     "password: ONCEMQ_RECORD");
  command.add_option("--store", arguments.stores,
                     "NAME=ADDRESS of each store, in their order; with passwords: ONCEMQ_STORES, "
                     "with blanks between them");
  command
      .add_option(board, arguments.board,
                  "Of the switchboard, where its services say another one than this")
      ->capture_default_str()
      ->each([&](const std::string&) { arguments.board_said = true; });
}

void AddLockSwitch(CLI::App& command, LockArguments& arguments) {
  command.add_option("store", arguments.name, "The store that is to come into force");
  command.add_flag("--next", arguments.next, "The next one in order");
  command.add_flag(
      "--planned-only", arguments.planned_only,
      "Fail where a planned switch is not possible from here. By default that is a "
      "drain: nothing is granted, but to the fenced, until the holders' leases are over");
  command.add_flag("--call-off", arguments.call_off, "Call off the switch that is under way");
  command.add_flag("--watch", arguments.watch,
                   "Look every second until the switch is over: counts down what is left");
  AddRecord(command, arguments, "--name,--switchboard");
  AddSpace(command, arguments, "'' for those that say none");
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

using LockAction = int (*)(const LockArguments&);

// Where the locks are: an address, or stores and the record that says which is in force, with a
// space; or a catalogue.
void AddLockTarget(CLI::App& command, LockArguments& arguments) {
  CLI::Option* at = command.add_option(
      "--at", arguments.at, "redis://host:port or the like; with a password: in ONCEMQ_LOCKS");
  AddRecord(command, arguments, "--switchboard");
  for (const char* other : {"--record", "--store", "--switchboard"}) {
    at->excludes(command.get_option(other));
  }
  AddSpace(command, arguments, "none if they do not");
  AddScope(command, arguments.from);
}

void AddLockLs(CLI::App& ls, LockArguments& arguments) {
  ls.add_option("--after", arguments.after, "Those after this name");
  ls.add_option("--limit", arguments.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddLockTarget(ls, arguments);
  CLI::Option* file = ls.add_option("-c,--config", arguments.config,
                                    "Instead of names, the spaces that this service file names");
  for (const char* other : {"--at", "--record", "--store", "--switchboard", "--space",
                            "--catalogue", "--application", "--secret-file", "--scope"}) {
    file->excludes(ls.get_option(other));
  }
  ls.add_flag("--hex", arguments.hex, "--after is given as hex digits, two for each byte");
  ls.footer(
      "A store does not list its spaces. -c FILE, or --catalogue FILE without an application,\n"
      "lists those that the file names. --at without --space lists the names of services that say\n"
      "none.\n"
      "\n"
      "Exit codes: 0 also if nothing is held, 1 failed, 2 refused, 6 no answer there.");
}

void AddLock(CLI::App& app, LockArguments& arguments, CommandActions& actions) {
  CLI::App* lock = app.add_subcommand("lock", "Look at locks, and take one away");
  lock->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, LockAction run) {
    CLI::App* command = lock->add_subcommand(name, what);
    command->add_flag("--json", arguments.json, "As JSON, one object a line");
    actions.push_back({command, [&arguments, run] { return run(arguments); }});
    return command;
  };
  add("engines", "What engines there are, and what each can do", LockEnginesCommand);
  AddLockLs(*add("ls", "Names that are held or waited for; or the spaces that a file names",
                 LockLsCommand),
            arguments);
  CLI::App* show = add("show", "Who holds a name, and who waits for it", LockShowCommand);
  CLI::App* recall =
      add("ask-back", "Ask the holders of a name to give it back", LockRecallCommand);
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
  for (CLI::App* command : {show, recall, release, election, bench}) {
    AddLockTarget(*command, arguments);
    if (command != bench) {
      command->add_option("name", arguments.name, "The name")->required();
      command->add_flag("--hex", arguments.hex,
                        "The name is given as hex digits, two for each byte");
    }
    command->footer(std::string("Exit codes: ") +
                    (command == show ? "0 also if nothing is held, 1" : "1 nothing was held, or") +
                    " failed, 2 refused, 6 no answer there.");
  }
}

constexpr char kVersion[] = "oncemq " ONCEMQ_VERSION;

int PrintVersion(bool json) {
  std::cout << (json ? "{\"name\":\"oncemq\",\"version\":\"" ONCEMQ_VERSION "\"}" : kVersion)
            << "\n";
  return kExitDone;
}

void AddVersion(CLI::App& app, Arguments& arguments, CommandActions& actions) {
  app.set_version_flag("--version", kVersion, "Print the version, as the command `version` does");
  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->add_flag("--json", arguments.json, "As a JSON object");
  actions.push_back({version, [&] { return PrintVersion(arguments.json); }});
}

int PrintCompletion(const CLI::App& app, const std::string& shell) {
  const std::vector<CompletedCommand> tree = TreeOf(app);
  std::cout << (shell == "zsh" ? ZshCompletion(tree) : BashCompletion(tree));
  return kExitDone;
}

void AddCompletion(CLI::App& app, Arguments& arguments, CommandActions& actions) {
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script by which a shell completes this command");
  completion->add_option("shell", arguments.shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->footer(
      "To use it: source <(oncemq completion bash), in ~/.bashrc; or write that of zsh into a "
      "file\n"
      "_oncemq in a folder of $fpath.");
  actions.push_back({completion, [&] { return PrintCompletion(app, arguments.shell); }});
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

constexpr char kExamples[] =
    "Examples:\n"
    "  oncemq check service.yaml\n"
    "  oncemq doctor service.yaml\n"
    "  oncemq explain guarantee -c service.yaml\n"
    "  oncemq run -c service.yaml --handler count\n"
    "  oncemq status service.yaml\n"
    "  oncemq explain partition payments/3 -c service.yaml\n"
    "  oncemq group status -c service.yaml\n"
    "  oncemq window show ID --socket /run/payments/admin.sock\n"
    "  oncemq window stat -c service.yaml\n"
    "  oncemq lock show NAME --at redis://localhost --space payments\n"
    "  oncemq lock switch b --record file:/etc/locks --store a=redis://h1 --store b=redis://h2 "
    "--space payments";

int Main(int argc, char** argv) {
  CLI::App app("Effectively-once effects from at-least-once delivery", "oncemq");
  app.require_subcommand(1);
  app.footer(kExamples);
  Arguments arguments;
  CommandActions actions;
  AddRun(app, arguments.run, actions);
  AddCheck(app, arguments.check, actions);
  AddDoctor(app, arguments.doctor, actions);
  AddPark(app, actions);
  AddReplay(app, actions);
  AddMetrics(app, actions);
  AddVersion(app, arguments, actions);
  AddExplain(app, actions);
  AddStatus(app, actions);
  AddGroup(app, actions);
  AddWindow(app, arguments, actions);
  AddGate(app, arguments.gate, actions);
  AddLock(app, arguments.lock, actions);
  AddStore(app, arguments.store, arguments.migrate, actions);
  AddCompletion(app, arguments, actions);
  if (IsUnknownCommand(app, argc, argv)) {
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  const auto parsed = std::find_if(actions.begin(), actions.end(), [](const CommandAction& action) {
    return action.command->parsed();
  });
  return parsed == actions.end() ? kExitUsage : parsed->run();
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
