// SPDX-License-Identifier: Apache-2.0
#include "etcd_connection.h"

#include <fcntl.h>
#include <httplib.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "oncemq/base/mutex.h"

namespace oncemq {
namespace {

constexpr size_t kLongestAnswer = size_t{32} << 20;

// The HTTP library writes without MSG_NOSIGNAL: a server that has hung up would end the process. A
// signal of our own making is taken back; one that was pending before stays.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

std::string HostHeader(const EtcdHost& host) {
  const bool ipv6 = host.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host.host + "]" : host.host) + ":" + std::to_string(host.port);
}

}  // namespace

struct EtcdConnection::Parts {
  explicit Parts(const EtcdHost& to)
      : where(HostHeader(to)), http(std::make_unique<httplib::Client>(to.host, to.port)) {
    http->set_keep_alive(true);
    http->set_tcp_nodelay(true);
    http->set_decompress(false);
    http->set_socket_options([this](int socket) { Made(socket); });
  }
  ~Parts() {
    http.reset();
    Forget();
  }

  const std::string where;
  std::unique_ptr<httplib::Client> http;
  Mutex mutex;
  int twin GUARDED_BY(mutex) = -1;  // its socket, by a number that is ours
  bool hung GUARDED_BY(mutex) = false;

  void Forget() {
    MutexLock lock(mutex);
    if (twin >= 0) {
      close(twin);
    }
    twin = -1;
  }
  // Before it connects. One that was hung up before it was there becomes one that cannot.
  void Made(int fresh) {
    Forget();
    MutexLock lock(mutex);
    if (hung) {
      const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
      dup2(nothing, fresh);
      close(nothing);
      return;
    }
    twin = fcntl(fresh, F_DUPFD_CLOEXEC, 0);
  }
  bool Hung() {
    MutexLock lock(mutex);
    return hung;
  }
  Error Failed(httplib::Error why, BootTime until) const;
  Status Send(const Request& etcd_request, const std::function<bool(int, std::string_view)>& hears);
};

Error EtcdConnection::Parts::Failed(httplib::Error why, BootTime until) const {
  using Why = httplib::Error;
  const bool late = SystemClock::Instance().Boot() >= until;
  // Without its last byte a question is none, and nothing is done.
  const bool unsent = why == Why::Connection || why == Why::ConnectionTimeout ||
                      why == Why::BindIPAddress || why == Why::Write;
  return {late ? Code::kTimeout : Code::kUnavailable, unsent ? Effect::kNone : Effect::kUnknown,
          "etcd at " + where + ": " +
              (unsent ? "cannot be reached (" + httplib::to_string(why) + ")"
               : late ? "no answer in time"
                      : "the connection broke")};
}

Status EtcdConnection::Parts::Send(const Request& etcd_request,
                                   const std::function<bool(int, std::string_view)>& hears) {
  const BootTime now = SystemClock::Instance().Boot();
  if (now >= etcd_request.until) {
    return Error{Code::kTimeout, Effect::kNone, "no time is left to ask etcd at " + where};
  }
  if (Hung()) {
    return Error{Code::kUnavailable, Effect::kNone, "the connection to etcd was hung up"};
  }
  const auto left = std::chrono::ceil<milliseconds>(etcd_request.until - now);
  http->set_connection_timeout(std::min(left, etcd_request.connect));
  http->set_read_timeout(left);
  http->set_write_timeout(left);
  httplib::Request request;
  request.method = "POST";
  request.path = etcd_request.path;
  request.headers = {{"Host", where}, {"Content-Type", "application/json"}};
  if (!etcd_request.token.empty()) {
    request.headers.emplace("Authorization", etcd_request.token);
  }
  request.body = etcd_request.body;
  int status = 0;
  bool enough = false;
  request.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  request.content_receiver = [&](const char* data, size_t length, uint64_t, uint64_t) {
    enough = !hears(status, {data, length});
    return !enough && SystemClock::Instance().Boot() < etcd_request.until;
  };
  try {
    const NoPipeSignal quiet;
    const httplib::Result result = http->send(request);
    if (result || enough) {
      return {};
    }
    return Failed(result.error(), etcd_request.until);
  } catch (const std::exception& error) {
    return Error{Code::kInternal, Effect::kUnknown, "etcd: " + std::string(error.what())};
  }
}

EtcdConnection::EtcdConnection(const EtcdHost& host) : parts_(std::make_unique<Parts>(host)) {}

EtcdConnection::~EtcdConnection() = default;

Result<EtcdText> EtcdConnection::Post(const Request& etcd_request) {
  EtcdText text;
  bool too_long = false;
  const Status done = parts_->Send(etcd_request, [&](int status, std::string_view piece) {
    text.status = status;
    too_long = text.body.size() + piece.size() > kLongestAnswer;
    text.body.append(too_long ? std::string_view() : piece);
    return !too_long;
  });
  if (!done && text.body.empty()) {
    return done.error();
  }
  if (!done) {
    text.broken = done.error();
  }
  if (too_long) {
    return Error{Code::kCorrupt, Effect::kUnknown, "etcd answered more than 32 MB"};
  }
  return text;
}

Status EtcdConnection::Stream(const Request& etcd_request,
                              const std::function<bool(int status, std::string_view)>& hears) {
  return parts_->Send(etcd_request, hears);
}

void EtcdConnection::Hang() {
  MutexLock lock(parts_->mutex);
  parts_->hung = true;
  if (parts_->twin >= 0) {
    shutdown(parts_->twin, SHUT_RDWR);
  }
}

}  // namespace oncemq
