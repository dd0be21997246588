// SPDX-License-Identifier: Apache-2.0
#include "http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "admin_commands.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/start_thread.h"
#include "owned_fd.h"
#include "timed_stream.h"

namespace oncemq {
namespace {

constexpr milliseconds kPause{100};  // after the system gave no descriptor

HttpAnswer Refusal(int status, std::string why) {
  HttpAnswer answer = AdminRefusal({Code::kInvalid, Effect::kNone, std::move(why)});
  answer.status = status;
  return answer;
}

// The constructor of cpp-httplib ignores SIGPIPE for the whole process. That is for its program.
class KeptSignal {
 public:
  KeptSignal() { sigaction(SIGPIPE, nullptr, &before_); }
  ~KeptSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  KeptSignal(const KeptSignal&) = delete;
  KeptSignal& operator=(const KeptSignal&) = delete;

 private:
  struct sigaction before_ {};
};

// One connection. The head of the request is read before cpp-httplib sees it, and no byte after it.
// A compressed body has no bound there.
class Conversation final : public TimedStream {
 public:
  Conversation(int fd, milliseconds within) : TimedStream(fd, within), within_(within) {}

  // A refusal, an empty one once the client has gone. Nothing: the head is there.
  std::optional<HttpAnswer> ReadHead();
  void Send(const HttpAnswer& answer);

  ssize_t read(char* to, size_t size) override {
    const size_t taken = head_.copy(to, size, at_);
    at_ += taken;
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* from, size_t size) override {
    if (!std::exchange(answered_, true)) {
      Begin(within_);  // the time of a command is not its client's
    }
    return TimedStream::write(from, size);
  }

 private:
  void HideRange();

  const milliseconds within_;
  std::string head_;
  size_t at_ = 0;  // so much of it is taken
  bool answered_ = false;
};

std::optional<HttpAnswer> Conversation::ReadHead() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  char bytes[4096];
  while (head_.size() < kMostHttpRequest) {
    const ssize_t got = TimedStream::read(bytes, sizeof bytes);
    if (late()) {
      return Refusal(408, "the request does not come in time");
    }
    if (got <= 0) {
      return head_.empty() ? HttpAnswer{}
                           : Refusal(400, "the request ends after " + std::to_string(head_.size()) +
                                              " bytes");
    }
    const size_t from = head_.size() < kEnd.size() ? 0 : head_.size() - kEnd.size();
    head_.append(bytes, static_cast<size_t>(got));
    if (const size_t end = head_.find(kEnd, from); end != std::string::npos) {
      head_.resize(end + kEnd.size());
      HideRange();
      return std::nullopt;
    }
  }
  return Refusal(431, "a request has at most " + std::to_string(kMostHttpRequest) + " bytes");
}

// cpp-httplib reads ranges by a regular expression with stack for each byte. It copies the answer
// for each range.
void Conversation::HideRange() {
  constexpr std::string_view kName = "\nrange:";
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  auto found = head_.begin();
  while ((found = std::search(found, head_.end(), kName.begin(), kName.end(), same)) !=
         head_.end()) {
    *++found = '-';
  }
}

void Conversation::Send(const HttpAnswer& answer) {
  const std::string text = "HTTP/1.1 " + std::to_string(answer.status) +
                           " Refused\r\nConnection: close\r\nContent-Type: " + answer.type +
                           "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                           "\r\n\r\n" + answer.body;
  httplib::Stream::write(text);
}

void Fill(httplib::Response& response, HttpAnswer answer) {
  response.status = answer.status;
  response.set_header("Content-Type", answer.type);
  response.body = std::move(answer.body);
}

// Its accept loop ends at the first unusual error, and its stop races with it. Ours does neither.
class Parser final : public httplib::Server {
 public:
  using httplib::Server::process_request;
};

class Server final : public HttpServer {
 public:
  Server(int listening, Options options);
  ~Server() override;
  bool Begin() {
    MutexLock lock(mutex_);
    return Employ();
  }

 private:
  bool Employ() REQUIRES(mutex_);
  void Run();
  std::optional<OwnedFd> Accept();
  void Serve(int fd);
  void Converse(int fd);
  bool MayAsk(int fd, Conversation& conversation) const;
  HttpAnswer Answer(const httplib::Request& request) const;

  const int listening_;
  const Options options_;
  Parser http_;
  Mutex mutex_;
  bool ending_ GUARDED_BY(mutex_) = false;
  size_t free_ GUARDED_BY(mutex_) = 0;  // threads that accept
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::set<int> live_ GUARDED_BY(mutex_);  // sockets of conversations
};

Server::Server(int listening, Options options)
    : listening_(listening), options_(std::move(options)) {
  // Comes before the search for a handler, so no body is read and no path is matched.
  http_.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        Fill(response, Answer(request));
        return httplib::Server::HandlerResponse::Handled;
      });
  http_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) {
      Fill(response, Refusal(response.status, "this is no request of HTTP/1.1"));
    }
  });
}

Server::~Server() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    ending_ = true;
    threads.swap(threads_);
    shutdown(listening_, SHUT_RDWR);
    for (const int fd : live_) {
      shutdown(fd, SHUT_RDWR);
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

bool Server::Employ() {
  auto thread = StartThread("oncemq-admin", [this] { Run(); });
  if (thread) {
    threads_.push_back(*std::move(thread));
    free_++;
  }
  return thread.has_value();
}

void Server::Run() {
  while (std::optional<OwnedFd> fd = Accept()) {
    if (*fd) {
      Serve(fd->get());
    }
  }
}

// Nothing: the server ends. No descriptor: no client came, or could be let in.
std::optional<OwnedFd> Server::Accept() {
  OwnedFd fd(accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
  const int failed = fd ? 0 : errno;
  {
    MutexLock lock(mutex_);
    if (ending_) {
      return std::nullopt;
    }
  }
  if (failed != 0 && failed != EINTR && failed != ECONNABORTED) {
    // The client that waits would wake us again and again.
    Log(LogLevel::kWarn, "admin", "a client cannot be let in", {{"error", std::strerror(failed)}});
    SleepFor(kPause);
  }
  return fd;
}

void Server::Serve(int fd) {
  {
    MutexLock lock(mutex_);
    if (ending_) {
      return;
    }
    live_.insert(fd);
    if (--free_ == 0 && threads_.size() < options_.connections) {
      Employ();
    }
  }
  try {
    Converse(fd);
  } catch (const std::exception& error) {  // no memory, as a rule
    Log(LogLevel::kError, "admin", "a client is let go", {{"error", error.what()}});
  }
  MutexLock lock(mutex_);
  live_.erase(fd);
  free_++;
}

void Server::Converse(int fd) {
  Conversation conversation(fd, options_.deadline);
  if (!MayAsk(fd, conversation)) {
    return;
  }
  if (const auto refusal = conversation.ReadHead()) {
    if (!refusal->body.empty()) {
      conversation.Send(*refusal);
    }
    return;
  }
  bool closed = false;
  http_.process_request(conversation, true, closed, [](httplib::Request& request) {
    request.headers.erase("Accept-Encoding");  // compressing costs more than a local answer
    request.headers.erase("Expect");           // the answer comes at once
  });
}

// Before a byte is read.
bool Server::MayAsk(int fd, Conversation& conversation) const {
  if (options_.may_query == nullptr) {
    return true;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && options_.may_query(peer.uid)) {
    return true;
  }
  Log(LogLevel::kWarn, "admin", "a request of another user is refused",
      {{"uid", peer.uid}, {"pid", peer.pid}});
  conversation.Send(Refusal(403, "only the service's own user and root may ask"));
  return false;
}

HttpAnswer Server::Answer(const httplib::Request& request) const {
  return request.method == "GET" || request.method == "HEAD"
             ? options_.answer(request.target)
             : Refusal(405, "this service takes only GET: it changes nothing");
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(int listening, Options options) {
  const KeptSignal kept;
  auto server = std::make_unique<Server>(listening, std::move(options));
  if (!server->Begin()) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return std::unique_ptr<HttpServer>(std::move(server));
}

bool MayQuery(uid_t user, uid_t service) {
  return user == service || user == 0;
}

}  // namespace oncemq
