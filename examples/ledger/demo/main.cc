// SPDX-License-Identifier: Apache-2.0
// scripts/demo ledger: three writers of the settlement ledger, killed at random, and a verdict.
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "oncemq/base/bytes.h"
#include "show.h"

namespace {

constexpr char kHelp[] =
    "usage: ledger_demo [option...]\n"
    "  --seconds N   for how long writers are killed, 10 to 300 (default 60)\n"
    "  --seed N      other settlements and other kills (default 1)\n"
    "  --keep        keep the working directory with the writers' logs\n"
    "exit code: 0 verdict OK, 4 verdict FAILED, 3 no PostgreSQL, 2 usage, 130 ended by a signal\n";

std::optional<ledger::demo::ShowOptions> Parse(std::span<const std::string_view> words) {
  ledger::demo::ShowOptions options;
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i] == "--keep") {
      options.keep = true;
      continue;
    }
    const int64_t number =
        i + 1 < words.size() ? oncemq::ParseDecimal(words[i + 1]).value_or(-1) : -1;
    if (words[i] == "--seconds" && number >= 10 && number <= 300) {
      options.seconds = number;
    } else if (words[i] == "--seed" && number >= 0) {
      options.seed = static_cast<uint64_t>(number);
    } else {
      return std::nullopt;
    }
    i++;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  auto options = Parse(words);
  if (!options) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  std::error_code failed;
  options->program =
      std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / ".." / "ledger";
  options->service_file = LEDGER_SERVICE_FILE;
  return ledger::demo::RunShow(*options);
}
