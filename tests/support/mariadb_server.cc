// SPDX-License-Identifier: Apache-2.0
#include "mariadb_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"
#include "plain_user.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kMariaDbStarts{180};  // a disk that others use, too
constexpr const char* kScripts = "/usr/share/mysql/";
constexpr std::array kFiles{"mysql_system_tables.sql", "mysql_performance_tables.sql",
                            "mysql_system_tables_data.sql"};

std::optional<std::filesystem::path> Program() {
  for (const char* path : {"/usr/sbin/mariadbd", "/usr/sbin/mysqld"}) {
    if (access(path, X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> MariadbServer::Missing() {
  if (!Program()) {
    return "there is no MariaDB: no /usr/sbin/mariadbd (package mariadb-server-core)";
  }
  for (const char* file : kFiles) {
    if (!std::filesystem::exists(std::string(kScripts) + file)) {
      return "MariaDB has no " + std::string(file);
    }
  }
  return MissingForPlainUser();
}

std::unique_ptr<MariadbServer> MariadbServer::Start(std::vector<std::string> arguments) {
  if (const auto missing = Missing()) {
    throw std::runtime_error(*missing);
  }
  std::unique_ptr<MariadbServer> server(new MariadbServer(std::move(arguments)));
  server->Initialise();
  server->Restart();
  return server;
}

std::string MariadbServer::UrlAt(uint16_t port) {
  return "mariadb://oncemq:secret@127.0.0.1:" + std::to_string(port) + "/test";
}

std::string MariadbServer::LogText() const {
  std::ostringstream text;
  text << std::ifstream(dir_.path() / "server.log").rdbuf();
  return text.str();
}

// What the script mariadb-install-db does, which needs programs of other packages.
void MariadbServer::Initialise() {
  const std::filesystem::path data = dir_.path() / "data";
  std::filesystem::create_directory(data);
  {
    std::ofstream boot(dir_.path() / "boot.sql");
    boot << "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n";
    for (const char* file : kFiles) {
      boot << std::ifstream(std::string(kScripts) + file).rdbuf();
    }
    std::ofstream(dir_.path() / "init.sql")
        << "CREATE DATABASE IF NOT EXISTS test;\n"
           "CREATE USER IF NOT EXISTS oncemq@'%' IDENTIFIED BY 'secret';\n"
           "GRANT ALL ON *.* TO oncemq@'%' WITH GRANT OPTION;\n";
  }
  for (const auto& path : {dir_.path(), data, dir_.path() / "boot.sql", dir_.path() / "init.sql"}) {
    GiveToPlainUser(path);
  }
  Process boots(
      {.command = AsPlainUser({"/bin/sh", "-c",
                               "exec \"$0\" \"$@\" < '" + (dir_.path() / "boot.sql").string() + "'",
                               *Program(), "--no-defaults", "--bootstrap",
                               "--datadir=" + data.string(), "--tmpdir=" + dir_.path().string(),
                               "--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=4M"}),
       .log_file = dir_.path() / "server.log"});
  if (boots.Wait(kMariaDbStarts) != 0) {
    throw std::runtime_error("MariaDB makes no data directory: " + LogText());
  }
}

void MariadbServer::Restart() {
  const std::string dir = dir_.path().string();
  std::vector<std::string> command{*Program(),
                                   "--no-defaults",
                                   "--datadir=" + dir + "/data",
                                   "--tmpdir=" + dir,
                                   "--port=" + std::to_string(port_.number()),
                                   "--bind-address=127.0.0.1",
                                   "--socket=" + dir + "/socket",
                                   "--pid-file=" + dir + "/pid",
                                   "--init-file=" + dir + "/init.sql",
                                   "--skip-name-resolve",
                                   "--innodb-buffer-pool-size=16M",
                                   "--innodb-flush-log-at-trx-commit=2",
                                   "--max-connect-errors=1000000"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  process_ = std::make_unique<Process>(
      ProcessOptions{.command = AsPlainUser(command), .log_file = dir_.path() / "server.log"});
  if (!Eventually(kMariaDbStarts, [this] { return !process_->Running() || Answers(); }) ||
      !process_->Running()) {
    throw std::runtime_error("MariaDB does not start: " + LogText());
  }
}

// It greets whoever connects.
bool MariadbServer::Answers() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<char, 5> greeting{};
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      recv(fd, greeting.data(), greeting.size(), MSG_WAITALL) == 5 && greeting[4] == 10;
  close(fd);
  return answers;
}

}  // namespace oncemq::testing
