// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "admin_commands.h"
#include "admin_listener.h"
#include "health.h"
#include "http_server.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/admin.h"
#include "service_commands.h"
#include "tcp_listener.h"

namespace oncemq {
namespace {

// Strangers come there, so a silent one does not hold up a probe for long.
constexpr milliseconds kDeadlineOfPort{2'000};

HttpAnswer AnswerHealth(const Health& health) {
  return {health.well ? 200 : 503, health.why + "\n", "text/plain; charset=utf-8"};
}

Error NothingAt(std::string_view what) {
  return {Code::kNotFound, Effect::kNone, std::string(what)};
}

class Served final : public AdminSocket {
 public:
  explicit Served(AdminSubject subject) : subject_(std::move(subject)) {
    AddServiceCommands(commands_, subject_);
  }
  Status OpenSocket(const AdminOptions& options);
  Status OpenPort(const AdminOptions& options);
  uint16_t port() const override { return port_ ? PortOf(port_) : 0; }

 private:
  // Nothing: the path is not one of both.
  std::optional<HttpAnswer> AnswerProbe(const std::string& target) const;

  const AdminSubject subject_;
  mutable std::mutex scrape_;
  AdminCommands commands_;
  std::unique_ptr<AdminListener> listener_;
  OwnedFd port_;
  // They end before the others. Each has threads of its own, so no command holds up a probe.
  std::unique_ptr<HttpServer> on_socket_;
  std::unique_ptr<HttpServer> on_port_;
};

std::optional<HttpAnswer> Served::AnswerProbe(const std::string& target) const {
  const std::string_view path = std::string_view(target).substr(0, target.find('?'));
  if (path == "/livez") {
    return AnswerHealth(CheckLiveness(subject_.runtime->Report()));
  }
  if (path == "/readyz") {
    return AnswerHealth(CheckReadiness(subject_.runtime->Report()));
  }
  if (path != "/metrics") {
    return std::nullopt;
  }
  if (subject_.metrics == nullptr) {
    return AdminRefusal(NothingAt("this service publishes no metrics"));
  }
  // One at a time: a disk that hangs holds up one thread, and the probes have the others.
  const std::unique_lock scrape(scrape_, std::try_to_lock);
  return scrape ? HttpAnswer{200, subject_.metrics(), "text/plain; version=0.0.4; charset=utf-8"}
                : AdminRefusal({Code::kUnavailable, Effect::kNone,
                                "an earlier scrape has not ended; the disk may hang"});
}

Status Served::OpenSocket(const AdminOptions& options) {
  auto listener = AdminListener::Open(options.socket);
  if (!listener) {
    return listener.error();
  }
  listener_ = *std::move(listener);
  const uid_t service = geteuid();
  auto server = HttpServer::Start(
      listener_->fd(), {.deadline = options.deadline,
                        .connections = options.connections,
                        .may_query = [service](uid_t user) { return MayQuery(user, service); },
                        .answer =
                            [this](const std::string& target) {
                              const auto probe = AnswerProbe(target);
                              return probe ? *probe : AnswerAdmin(commands_, target);
                            }});
  if (!server) {
    return server.error();
  }
  on_socket_ = *std::move(server);
  Log(LogLevel::kInfo, "admin", "the service can be asked", {{"socket", options.socket}});
  return {};
}

Status Served::OpenPort(const AdminOptions& options) {
  const auto address = ParseAdminAddress(options.listen);
  if (!address) {
    return Error{Code::kInvalid, Effect::kNone,
                 "`" + options.listen + "` " + address.error().message};
  }
  auto port = ListenTcp(*address);
  if (!port) {
    return port.error();
  }
  port_ = *std::move(port);
  auto server = HttpServer::Start(
      port_.get(), {.deadline = std::min(options.deadline, kDeadlineOfPort),
                    .connections = options.connections,
                    .answer = [this](const std::string& target) {
                      const auto probe = AnswerProbe(target);
                      return probe ? *probe
                                   : AdminRefusal(NothingAt(
                                         "only /metrics, /livez and /readyz are here; `oncemq "
                                         "status` asks `admin.socket`"));
                    }});
  if (!server) {
    return server.error();
  }
  on_port_ = *std::move(server);
  Log(LogLevel::kInfo, "admin", "metrics and health can be read",
      {{"host", address->host}, {"port", PortOf(port_)}});
  if (const std::string exposure = AdminExposure(options); !exposure.empty()) {
    Log(LogLevel::kWarn, "admin", exposure);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<AdminSocket>> AdminSocket::Open(const AdminOptions& options,
                                                       AdminSubject subject) {
  if (subject.runtime == nullptr || (options.socket.empty() && options.listen.empty()) ||
      options.connections == 0 || options.deadline <= milliseconds(0) ||
      options.deadline > std::chrono::hours(1)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "an admin socket needs a path or an address, a runtime to speak of, at least one "
                 "connection, and a deadline above zero and of an hour at most"};
  }
  Window* const window = subject.window;
  auto served = std::make_unique<Served>(std::move(subject));
  Status opened = options.socket.empty() ? Status() : served->OpenSocket(options);
  if (opened && !options.listen.empty()) {
    opened = served->OpenPort(options);
  }
  if (!opened) {
    return opened.error();
  }
  std::error_code failed;  // the working directory is gone, as a rule
  const std::filesystem::path path = std::filesystem::absolute(options.socket, failed);
  if (window != nullptr && !options.socket.empty() && !failed) {
    window->SetAdminSocket(path);
  }
  return std::unique_ptr<AdminSocket>(std::move(served));
}

Status AdminSocket::CheckFree(const AdminOptions& options) {
  if (!options.socket.empty()) {
    if (Status free = AdminListener::CheckFree(options.socket); !free) {
      return free;
    }
  }
  if (options.listen.empty()) {
    return {};
  }
  const auto address = ParseAdminAddress(options.listen);
  const auto port = address ? ListenTcp(*address) : Result<OwnedFd>(address.error());
  return port ? Status() : Status(port.error());
}

}  // namespace oncemq
