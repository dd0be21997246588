// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"

#ifdef __SANITIZE_ADDRESS__
// The C client forgets the entries of events that come while it closes. What we gave it is ours,
// and is still looked for. The sanitizer, a library, asks for it by this name.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();   // NOLINT
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:libzookeeper_mt\n";
}
#endif

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kZooKeeperStarts{180};
// For an answer of one that starts: some questions are never answered.
constexpr std::chrono::milliseconds kPatience{200};
// Of Debian's libzookeeper-java; it names what it needs itself. The second one writes its log.
constexpr char kJar[] = "/usr/share/java/zookeeper.jar";
constexpr char kCliJar[] = "/usr/share/java/commons-cli.jar";
constexpr char kLogJar[] = "/usr/share/java/slf4j-simple.jar";

bool InPath(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> ZooKeeperServer::Missing() {
  if (!InPath("java")) {
    return "there is no Java for a ZooKeeper (package openjdk-17-jre-headless)";
  }
  if (!std::filesystem::exists(kJar)) {
    return "there is no ZooKeeper: " + std::string(kJar) + " (package libzookeeper-java)";
  }
  return std::nullopt;
}

std::unique_ptr<ZooKeeperServer> ZooKeeperServer::Start() {
  std::unique_ptr<ZooKeeperServer> server(new ZooKeeperServer());
  server->Restart();
  return server;
}

std::vector<std::unique_ptr<ZooKeeperServer>> ZooKeeperServer::StartEnsemble(size_t count) {
  std::vector<std::unique_ptr<ZooKeeperServer>> servers;
  std::string members = "initLimit=50\nsyncLimit=25\n";
  for (size_t id = 1; id <= count; id++) {
    const ZooKeeperServer& server =
        *servers.emplace_back(std::unique_ptr<ZooKeeperServer>(new ZooKeeperServer()));
    members.append("server.").append(std::to_string(id)).append("=127.0.0.1:");
    members.append(std::to_string(server.to_followers_.number())).append(":");
    members.append(std::to_string(server.elections_.number())).append("\n");
  }
  for (size_t i = 0; i < count; i++) {
    servers[i]->id_ = i + 1;
    servers[i]->members_ = members;
    servers[i]->Launch();
  }
  for (const auto& server : servers) {
    server->AwaitService();
  }
  return servers;
}

void ZooKeeperServer::Restart() {
  Launch();
  AwaitService();
}

void ZooKeeperServer::Launch() {
  if (const auto missing = Missing()) {
    throw std::runtime_error(*missing);
  }
  const std::filesystem::path file = dir_.path() / "zoo.cfg";
  std::ofstream(file) << "tickTime=200\nmaxSessionTimeout=200000\nadmin.enableServer=false\n"
                      << "maxClientCnxns=0\n4lw.commands.whitelist=*\n"
                      << "dataDir=" << dir_.path().string() << "\n"
                      << "clientPortAddress=127.0.0.1\nclientPort=" << port_.number() << "\n"
                      << members_;
  std::ofstream(dir_.path() / "myid") << id_ << "\n";
  const std::string main = members_.empty() ? "ZooKeeperServerMain" : "quorum.QuorumPeerMain";
  process_ = std::make_unique<Process>(ProcessOptions{
      .command = {"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                  // Nothing is promised about power, and empty containers go at once. One that has
                  // sought a leader in vain for long asks again soon.
                  "-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=300",
                  "-Dzookeeper.fastleader.maxNotificationInterval=1000", "-cp",
                  std::string(kJar) + ":" + kLogJar, "org.apache.zookeeper.server." + main, file},
      .log_file = dir_.path() / "server.log"});
}

void ZooKeeperServer::AwaitService() {
  const auto serves = [this] { return Say("srvr", kPatience).find("Mode: ") != std::string::npos; };
  if (!Eventually(kZooKeeperStarts, [&] { return !process_->Running() || serves(); }) ||
      !process_->Running()) {
    std::ostringstream text;
    text << std::ifstream(dir_.path() / "server.log").rdbuf();
    throw std::runtime_error("ZooKeeper does not start: " + text.str());
  }
}

bool ZooKeeperServer::Leads() const {
  return Say("srvr").find("Mode: leader") != std::string::npos;
}

std::string ZooKeeperServer::Say(const std::string& word,
                                 std::chrono::milliseconds patience) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(patience);
  const timeval limit{seconds.count(), std::chrono::microseconds(patience - seconds).count()};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string said;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    std::array<char, 4096> some;
    for (ssize_t length = 1; length > 0;) {
      length = read(fd, some.data(), some.size());
      said.append(some.data(), length > 0 ? static_cast<size_t>(length) : 0);
    }
  }
  close(fd);
  return said;
}

std::string ZooKeeperServer::Shell(const std::vector<std::string>& lines) const {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "lines";
  const std::filesystem::path said = dir.path() / "said";
  std::ofstream out(file);
  for (const std::string& line : lines) {
    out << line << "\n";
  }
  out << "quit\n";
  out.close();
  const std::string command = "exec java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp " +
                              std::string(kJar) + ":" + kCliJar + ":" + kLogJar +
                              " org.apache.zookeeper.ZooKeeperMain -waitforconnection -server " +
                              port_.address() + " < " + file.string();
  Process client({.command = {"sh", "-c", command}, .log_file = said});
  const auto code = client.Wait(kZooKeeperStarts);
  std::ostringstream text;
  text << std::ifstream(said).rdbuf();
  if (!code) {
    throw std::runtime_error("ZooKeeper's client does not end: " + text.str());
  }
  return text.str();
}

long ZooKeeperServer::Number(const std::string& name) const {
  const std::string said = Say("mntr");
  const size_t at = said.find(name + "\t");
  return at == std::string::npos ? -1 : std::strtol(said.c_str() + at + name.size(), nullptr, 10);
}

}  // namespace oncemq::testing
