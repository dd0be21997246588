// SPDX-License-Identifier: Apache-2.0
#include "etcd_server.h"

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

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kEtcdStarts{40};

bool Present() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / "etcd").c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> EtcdServer::Missing() {
  if (!Present()) {
    return "there is no etcd (package etcd-server)";
  }
  return std::nullopt;
}

std::unique_ptr<EtcdServer> EtcdServer::Start(std::vector<std::string> arguments) {
  std::unique_ptr<EtcdServer> server(new EtcdServer(std::move(arguments), "one"));
  server->cluster_ = server->peer();
  server->Restart();
  return server;
}

std::vector<std::unique_ptr<EtcdServer>> EtcdServer::StartCluster(size_t members) {
  std::vector<std::unique_ptr<EtcdServer>> servers;
  std::string cluster;
  for (size_t i = 0; i < members; i++) {
    servers.emplace_back(new EtcdServer({}, "member" + std::to_string(i)));
    cluster += (i == 0 ? "" : ",") + servers.back()->peer();
  }
  for (const auto& server : servers) {
    server->cluster_ = cluster;
    server->Run();
  }
  for (const auto& server : servers) {
    server->UntilItServes();
  }
  return servers;
}

void EtcdServer::Run() {
  const std::string here = "http://" + port_.address();
  const std::string peer = "http://" + peer_.address();
  std::vector<std::string> command = {"etcd",
                                      "--name",
                                      name_,
                                      "--data-dir",
                                      dir_.path() / "data",
                                      "--listen-client-urls",
                                      here,
                                      "--advertise-client-urls",
                                      here,
                                      "--listen-peer-urls",
                                      peer,
                                      "--initial-advertise-peer-urls",
                                      peer,
                                      "--initial-cluster",
                                      cluster_,
                                      "--heartbeat-interval",
                                      "50",
                                      "--election-timeout",
                                      "500",
                                      "--logger",
                                      "zap",
                                      "--log-level",
                                      "error"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  process_ = std::make_unique<Process>(
      ProcessOptions{.command = command, .log_file = dir_.path() / "server.log"});
}

void EtcdServer::Restart() {
  Run();
  UntilItServes();
}

void EtcdServer::UntilItServes() {
  if (!Eventually(kEtcdStarts, [this] { return !process_->Running() || Answers(); }) ||
      !process_->Running()) {
    std::ostringstream text;
    text << std::ifstream(dir_.path() / "server.log").rdbuf();
    throw std::runtime_error("etcd does not start: " + text.str());
  }
}

void EtcdServer::Save() {
  process_->Terminate(std::chrono::seconds(10));
  std::filesystem::remove_all(dir_.path() / "saved");
  std::filesystem::copy(dir_.path() / "data", dir_.path() / "saved",
                        std::filesystem::copy_options::recursive);
  Restart();
}

void EtcdServer::Restore() {
  process_->Terminate(std::chrono::seconds(10));
  std::filesystem::remove_all(dir_.path() / "data");
  std::filesystem::copy(dir_.path() / "saved", dir_.path() / "data",
                        std::filesystem::copy_options::recursive);
  Restart();
}

// Healthy: it has a leader, and takes part.
bool EtcdServer::Answers() const {
  return Say("GET /health HTTP/1.0\r\n\r\n").find("\"health\":\"true\"") != std::string::npos;
}

std::string EtcdServer::Request(const std::string& path, const std::string& json) const {
  return Say("POST " + path + " HTTP/1.0\r\nContent-Length: " + std::to_string(json.size()) +
             "\r\n\r\n" + json);
}

void EtcdServer::RequirePassword(const std::string& password) {
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"/v3/auth/user/add", R"({"name":"root","password":")" + password + R"("})"},
      {"/v3/auth/role/add", R"({"name":"root"})"},
      {"/v3/auth/user/grant", R"({"user":"root","role":"root"})"},
      {"/v3/auth/enable", "{}"}};
  for (const auto& [path, json] : steps) {
    if (const std::string said = Request(path, json); said.find(" 200 ") == std::string::npos) {
      throw std::runtime_error("etcd refuses " + path + ": " + said);
    }
  }
}

std::string EtcdServer::Say(const std::string& request) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kEtcdStarts.count() / 2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string said;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    std::array<char, 1024> piece{};
    for (ssize_t length = 0; (length = read(fd, piece.data(), piece.size())) > 0;) {
      said.append(piece.data(), static_cast<size_t>(length));
    }
  }
  close(fd);
  return said;
}

}  // namespace oncemq::testing
