// SPDX-License-Identifier: Apache-2.0
#include "admin_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "oncemq/base/log.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr milliseconds kPause{100};  // after the system gave no descriptor

}  // namespace

bool MayQuery(uid_t who, uid_t service) {
  return who == service || who == 0;
}

AdminServer::AdminServer(std::unique_ptr<AdminListener> listener, std::unique_ptr<Wake> wake,
                         AdminCommands commands, Options options, const Clock& clock)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      commands_(std::move(commands)),
      options_(std::move(options)),
      clock_(clock) {}

Result<std::unique_ptr<AdminServer>> AdminServer::Start(std::unique_ptr<AdminListener> listener,
                                                        AdminCommands commands, Options options,
                                                        const Clock& clock) {
  auto wake = Wake::Open();
  if (!wake) {
    return wake.error();
  }
  std::unique_ptr<AdminServer> server(new AdminServer(
      std::move(listener), *std::move(wake), std::move(commands), std::move(options), clock));
  server->thread_ = StartThread("oncemq-admin", [raw = server.get()] { raw->Run(); });
  if (!server->thread_) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return server;
}

AdminServer::~AdminServer() {
  ending_.store(true);
  wake_->Notify();
  if (thread_) {
    thread_->join();
  }
}

void AdminServer::Run() {
  while (!ending_.load()) {
    try {
      Round();
    } catch (const std::exception& error) {  // no memory: what clients hold is given back
      connections_.clear();
      Log(LogLevel::kError, "admin", "all clients are let go", {{"error", error.what()}});
    }
  }
  connections_.clear();
}

void AdminServer::Round() {
  std::vector<pollfd> waited = {{wake_->fd(), POLLIN, 0}, {listener_->fd(), POLLIN, 0}};
  if (clock_.Boot() < accept_again_) {
    waited[1].fd = -1;  // not asked for
  }
  for (const AdminConnection& connection : connections_) {
    waited.push_back({connection.fd(), connection.wants(), 0});
  }
  if (poll(waited.data(), waited.size(), Patience()) > 0) {
    for (size_t i = 0; i < connections_.size() && !ending_.load(); i++) {
      if (waited[i + 2].revents != 0) {
        connections_[i].Go(commands_, clock_, options_.deadline);
      }
    }
  }
  DropTheLate();
  if (waited[1].revents != 0 && !ending_.load()) {
    Accept();
  }
}

// In milliseconds, for poll().
int AdminServer::Patience() const {
  BootTime first = BootTime::max();
  for (const AdminConnection& connection : connections_) {
    first = std::min(first, connection.deadline());
  }
  const BootTime now = clock_.Boot();
  if (now < accept_again_) {
    first = std::min(first, accept_again_);
  }
  if (first == BootTime::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<milliseconds>(first - now);
  return static_cast<int>(
      std::clamp<milliseconds>(left, milliseconds(0), std::chrono::hours(1)).count());
}

void AdminServer::DropTheLate() {
  const BootTime now = clock_.Boot();
  std::erase_if(connections_, [now](const AdminConnection& connection) {
    return connection.over() || now >= connection.deadline();
  });
}

// As many as there are places, since of these we see before the next round who has gone again. One
// more only where there is none, to tell it so.
void AdminServer::Accept() {
  const size_t places = options_.connections - connections_.size();
  for (size_t i = 0; i < std::max<size_t>(places, 1); i++) {
    OwnedFd fd(accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      Greet(std::move(fd));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // The client that waits would wake us again and again.
      Log(LogLevel::kWarn, "admin", "a client cannot be let in", {{"error", std::strerror(errno)}});
      accept_again_ = clock_.Boot() + kPause;
      return;
    }
  }
}

void AdminServer::Greet(OwnedFd fd) {
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  AdminConnection connection(std::move(fd), {who.uid, who.pid}, clock_.Boot() + options_.deadline);
  if (!known || !options_.may_query(who.uid)) {
    Log(LogLevel::kWarn, "admin", "somebody else's request is refused",
        {{"uid", who.uid}, {"pid", who.pid}});
    connection.Refuse("only the service's own user and root may ask");
  } else if (connections_.size() >= options_.connections) {
    connection.Refuse("the service has " + std::to_string(connections_.size()) +
                      " clients at a time, and no more; try again");
  } else {
    connections_.push_back(std::move(connection));
  }
}

}  // namespace oncemq
