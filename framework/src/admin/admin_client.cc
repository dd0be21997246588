// SPDX-License-Identifier: Apache-2.0
#include "admin_client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "oncemq/framework/admin.h"
#include "socket_name.h"
#include "socket_trust.h"
#include "timed_stream.h"
#include "unix_socket.h"

namespace oncemq {
namespace {

constexpr size_t kMostHead = 4 << 10;  // cpp-httplib's expression for its line needs stack by byte

Error NoConversation(const std::string& path, int number) {
  switch (number) {
    case ENOENT:
      return {Code::kNotFound, Effect::kNone,
              "there is no " + path + ": no service runs that offers this socket"};
    case ECONNREFUSED:
      return {Code::kUnavailable, Effect::kNone,
              "nobody answers at " + path + ": the service that made this socket has died"};
    case EAGAIN:
      return {Code::kUnavailable, Effect::kNone,
              "the service at " + path + " has too many clients; try again"};
    case EACCES:
      return {Code::kInvalid, Effect::kNone,
              "you may not open " + path + ": ask as the service's own user, or as root"};
    default:
      return {Code::kInvalid, Effect::kNone, path + ": " + std::strerror(number)};
  }
}

// A process with write access to the directory may have put a socket there.
Status CheckServer(const OwnedFd& fd, const std::string& path) {
  ucred server{};
  socklen_t size = sizeof server;
  struct stat folder {};
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 ||
      stat(FolderOrHere(path).c_str(), &folder) != 0) {
    return NoConversation(path, errno);
  }
  if (MayTrust(server.uid, geteuid(), folder)) {
    return {};
  }
  return Error{Code::kInvalid, Effect::kNone,
               "the process that answers at " + path + " is of user " + std::to_string(server.uid) +
                   ", who is neither you nor root, and the directory is not that user's alone: it "
                   "is not believed"};
}

class AnswerStream final : public TimedStream {
 public:
  using TimedStream::TimedStream;

  void Allow(size_t bytes) { left_ = bytes; }
  // The other side has closed, or time is over, in an answer by HTTP.
  bool broken_off() const {
    return ended_ && (begin_.starts_with(kHttp) || kHttp.starts_with(begin_));
  }

  ssize_t read(char* to, size_t size) override {
    const ssize_t got = left_ == 0 ? -1 : TimedStream::read(to, std::min(size, left_));
    ended_ = left_ != 0 && got <= 0;
    left_ -= got > 0 ? static_cast<size_t>(got) : 0;
    if (got > 0 && begin_.size() < kHttp.size()) {
      begin_.append(to, static_cast<size_t>(got));
    }
    return got;
  }
  // After a refusal a service may stop to read. Its reason is in the answer.
  ssize_t write(const char* from, size_t size) override {
    const ssize_t sent = TimedStream::write(from, size);
    return sent < 0 && !late() ? static_cast<ssize_t>(size) : sent;
  }

 private:
  static constexpr std::string_view kHttp = "HTTP/";

  size_t left_ = kMostHead;
  bool ended_ = false;
  std::string begin_;  // of the answer
};

class Query final : public httplib::ClientImpl {
 public:
  Query(const std::string& path, milliseconds within)
      : httplib::ClientImpl("oncemq"), path_(path), stream_within_(within) {
    set_url_encode(false);  // EncodeAdminTarget() has
    set_decompress(false);
  }

  Result<nlohmann::ordered_json> Ask(const std::string& target) {
    int status = 0;
    std::string body;
    const httplib::Result got = Get(
        target,
        [&](const httplib::Response& response) {
          status = response.status;
          stream_->Allow(kMostAdminAnswer + 1);
          return true;
        },
        [&](const char* bytes, size_t size) {
          body.append(bytes, size);
          return true;
        });
    return got ? ReadAdminAnswer(status, body) : Failure();
  }

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    OwnedFd fd = NewUnixSocket();
    const int failed = fd ? ConnectUnix(fd, path_) : errno;
    const Status trusted = failed == 0 ? CheckServer(fd, path_) : NoConversation(path_, failed);
    if (!trusted) {
      refusal_ = trusted.error();
      error = httplib::Error::Connection;
      return false;
    }
    socket.sock = fd.release();
    return true;
  }

  bool process_socket(const Socket& socket,
                      std::function<bool(httplib::Stream&)> converse) override {
    return converse(stream_.emplace(socket.sock, stream_within_));
  }

  Error Failure() const {
    if (refusal_) {
      return *refusal_;
    }
    if (stream_ && stream_->late()) {
      return {Code::kTimeout, Effect::kUnknown,
              "the service at " + path_ + " does not answer in time"};
    }
    if (stream_ && stream_->broken_off()) {
      return {Code::kUnavailable, Effect::kUnknown,
              "the service at " + path_ + " ended the conversation without an answer"};
    }
    return {Code::kCorrupt, Effect::kUnknown,
            "what answers at " + path_ + " is no service of ours, or of an older version"};
  }

  const std::string& path_;
  const milliseconds stream_within_;
  std::optional<AnswerStream> stream_;
  std::optional<Error> refusal_;
};

}  // namespace

Result<nlohmann::ordered_json> QueryAdmin(const std::string& path, const AdminRequest& request,
                                          milliseconds within) {
  if (const Status fits = CheckAdminSocket(path); !fits) {
    return Error{Code::kInvalid, Effect::kNone, "`" + path + "` " + fits.error().message};
  }
  return Query(path, within).Ask(EncodeAdminTarget(request));
}

}  // namespace oncemq
