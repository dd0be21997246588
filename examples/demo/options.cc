// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <limits>

#include "oncemq/base/bytes.h"

namespace oncemq::demo {

const char kHelp[] =
    "usage: demo [option...]\n"
    "  --seed N        draw other payments and copies (default 1)\n"
    "  --payments N    how many, 5,000 to 100,000 (default 20,000); a tenth is sent twice\n"
    "  --report FILE   where the report goes (default demo-report.html)\n"
    "  --redis         window and ledger in a Redis that it starts, level guarded\n"
    "  --no-window     judge the run without a window: the verdict must say FAILED\n"
    "  --keep          keep the working directory with ledger, log and the workers' logs\n"
    "  --broker-only   no run: its broker and a slow stream, to try `oncemq run` on, until Ctrl-C\n"
    "exit code: 0 verdict OK, 4 verdict FAILED, 2 usage, 130 or 143 ended by a signal\n";

Result<DemoOptions> ParseOptions(std::span<const std::string_view> arguments) {
  const auto refuse = [](std::string_view argument) {
    std::string text = "cannot use ";
    return Error{Code::kInvalid, Effect::kNone, text += argument};
  };
  DemoOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--no-window") {
      options.window = false;
    } else if (argument == "--redis") {
      options.redis = true;
    } else if (argument == "--broker-only") {
      options.broker_only = true;
    } else if (argument == "--keep") {
      options.keep = true;
    } else if (argument == "--report" && i + 1 < arguments.size()) {
      options.report = arguments[++i];
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if ((argument == "--seed" || argument == "--payments") && i + 1 < arguments.size()) {
      const auto number = ParseDecimal(arguments[++i]);
      const bool payments = argument == "--payments";
      if (!number || *number < (payments ? 5'000 : 0) || (payments && *number > 100'000)) {
        return refuse(std::string(argument) + " " + std::string(arguments[i]));
      }
      if (payments) {
        options.payments = static_cast<uint32_t>(*number);
      } else {
        options.seed = static_cast<uint64_t>(*number);
      }
    } else {
      return refuse(argument);
    }
  }
  return options;
}

}  // namespace oncemq::demo
