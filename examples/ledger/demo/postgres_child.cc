// SPDX-License-Identifier: Apache-2.0
#include "postgres_child.h"

#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "oncemq/clients/postgres_client.h"

namespace ledger::demo {
namespace {

namespace fs = std::filesystem;
using oncemq::milliseconds;

constexpr milliseconds kLongestStart{30'000};
constexpr milliseconds kLongestStop{5'000};

oncemq::Error Unavailable(const std::string& what) {
  return {oncemq::Code::kUnavailable, oncemq::Effect::kNone, what};
}

// Its last line, which says why.
std::string EndOf(const fs::path& log) {
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    last = line.empty() ? last : line;
  }
  return last;
}

// PostgreSQL refuses to run as root, so it gets a directory of another user.
bool MakeDirectory(const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  const passwd* const nobody = getpwnam("nobody");
  if (failed || getuid() != 0) {
    return !failed;
  }
  // That user must reach it.
  fs::permissions(directory.parent_path(), fs::perms::others_exec | fs::perms::group_exec,
                  fs::perm_options::add, failed);
  return !failed && nobody != nullptr &&
         chown(directory.c_str(), nobody->pw_uid, nobody->pw_gid) == 0;
}

}  // namespace

// Debian has the programs of each version in a directory of their own.
std::optional<fs::path> PostgresChild::Programs() {
  std::optional<fs::path> best;
  int best_version = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", failed)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version > best_version && fs::exists(entry.path() / "bin/initdb", failed)) {
      best = entry.path() / "bin";
      best_version = version;
    }
  }
  return best;
}

oncemq::Result<std::unique_ptr<PostgresChild>> PostgresChild::Start(const fs::path& programs,
                                                                    const fs::path& directory) {
  if (!MakeDirectory(directory)) {
    return Unavailable("cannot make " + directory.string() + " for PostgreSQL");
  }
  const fs::path log = directory.parent_path() / "postgres.log";
  const std::string data = directory / "data";
  const auto initdb =
      Child::Start({.command = {programs / "initdb", "-D", data, "-U", "ledger", "-A", "trust",
                                "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"},
                    .log = log,
                    .as_nobody = true});
  if (!initdb || (*initdb)->Wait(kLongestStart) != 0) {
    return initdb ? Unavailable("initdb fails: " + EndOf(log)) : initdb.error();
  }
  auto server = Child::Start({.command = {programs / "postgres", "-D", data, "-k", directory, "-c",
                                          "listen_addresses=", "-c", "fsync=off"},
                              .log = log,
                              .as_nobody = true});
  if (!server) {
    return server.error();
  }
  const std::string address = "postgres://ledger@/postgres?host=" + directory.string();
  const auto endpoint = oncemq::ParsePostgresEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  const oncemq::BootTime until = oncemq::BootNow() + kLongestStart;
  while (!oncemq::OpenPostgres(*endpoint, {}, 1)) {
    if ((*server)->Wait(milliseconds(100)) || oncemq::BootNow() >= until) {
      return Unavailable("PostgreSQL does not start: " + EndOf(log));
    }
  }
  return std::unique_ptr<PostgresChild>(new PostgresChild(*std::move(server), address));
}

PostgresChild::~PostgresChild() {
  child_->Signal(SIGINT);
  child_->Wait(kLongestStop);
}

}  // namespace ledger::demo
