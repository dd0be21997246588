// SPDX-License-Identifier: Apache-2.0
#include "replay_options.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "command_window.h"
#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "replay_service.h"

namespace oncemq {
namespace {

int Replay(const ReplayArguments& arguments) {
  const Status fits = CheckReplayArguments(arguments);
  if (!fits) {
    std::cerr << fits.error().message << "\n";
    return kExitUsage;
  }
  return JudgeService(arguments, OpenCommandWindow);
}

}  // namespace

void AddReplay(CLI::App& app, CommandActions& actions) {
  const auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* replay = app.add_subcommand(
      "replay", "Judge messages of the past: which would run again, and which are done");
  for (const ReplayFlag& flag : ReplayFlags()) {
    const std::string name(flag.name == "--config" ? "-c,--config" : flag.name);
    const auto set = [arguments, &flag](const std::vector<std::string>& values) {
      const int64_t now_ms = SystemClock::Instance().Wall().micros / 1'000;
      for (const std::string& value : values) {
        if (!flag.set(*arguments, value, now_ms)) {
          throw CLI::ValidationError(std::string(flag.name),
                                     "`" + value + "` is no " + std::string(flag.value));
        }
      }
    };
    if (flag.name == "--help") {
      continue;
    }
    if (flag.value.empty()) {
      replay->add_flag_callback(
          name, [set] { set({""}); }, std::string(flag.meaning));
    } else {
      replay->add_option_function<std::vector<std::string>>(name, set, std::string(flag.meaning))
          ->type_name(std::string(flag.value))
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  replay->footer(
      "Examples:\n"
      "  oncemq replay -c service.yaml --since 2026-11-27 --until 2026-11-28\n"
      "  oncemq replay -c service.yaml --topic payments --partition 3 --from 1000 --to 2000\n"
      "\n"
      "Nothing runs, and nothing changes in the window or in the group.\n"
      "Exit codes: 2 refused, 6 no broker or store answers.");
  actions.push_back({replay, [arguments] { return Replay(*arguments); }});
}

}  // namespace oncemq
