// SPDX-License-Identifier: Apache-2.0
// The settlement ledger; README.md has the commands.
//
//   ledger tables                     makes the tables at LEDGER_DB
//   ledger -c service.yaml            the service
//   ledger close --day 2026-11-21     closes a day, once however many hosts do it
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "closing.h"
#include "handler.h"
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_postgres.h"
#include "tables.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr char kHelp[] =
    "usage: ledger -c FILE           the service\n"
    "       ledger tables            makes the tables in the database LEDGER_DB\n"
    "       ledger close --day DAY   closes a day there, as 2026-11-21\n";

int Fail(const oncemq::Error& error) {
  std::fprintf(stderr, "ledger: %s\n", error.message.c_str());
  return kFailed;
}

// host/process
std::string Ourselves() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "/" + std::to_string(getpid());
}

int Close(std::string_view address, const std::string& day) {
  const auto closing = ledger::CloseAsLeader(address, {day}, Ourselves());
  if (!closing) {
    return Fail(closing.error());
  }
  std::printf("%s: %s by %s, %lld postings, turnover %lld cents\n", day.c_str(),
              closing->by_us ? "closed" : "was closed", closing->closed_by.c_str(),
              static_cast<long long>(closing->postings), static_cast<long long>(closing->turnover));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> words(argv + 1, argv + argc);
  const std::string_view command = words.empty() ? "" : words[0];
  if (command != "tables" && command != "close") {
    if (command == "-h" || command == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    return oncemq::RunService(argc, argv, ledger::OnEvent,
                              {.open_window = oncemq::OpenPostgresServiceWindow});
  }
  const char* const address = std::getenv("LEDGER_DB");
  if (address == nullptr) {
    std::fputs("ledger: which database? Set LEDGER_DB=postgres://user@host/database\n", stderr);
    return kUsage;
  }
  if (command == "tables" && words.size() == 1) {
    const oncemq::Status made = ledger::MakeTables(address);
    return made ? 0 : Fail(made.error());
  }
  if (command == "close" && words.size() == 3 && std::string_view(words[1]) == "--day") {
    return Close(address, words[2]);
  }
  std::fputs(kHelp, stderr);
  return kUsage;
}
