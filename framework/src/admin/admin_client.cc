// SPDX-License-Identifier: Apache-2.0
#include "admin_client.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "frame.h"
#include "oncemq/framework/admin.h"
#include "socket_name.h"
#include "socket_trust.h"
#include "unix_socket.h"

namespace oncemq {
namespace {

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

class Conversation {
 public:
  Conversation(const std::string& path, milliseconds within, const Clock& clock)
      : path_(path), clock_(clock), deadline_(clock.Boot() + within) {}

  Status Begin() {
    if (!fd_) {
      return NoConversation(path_, errno);
    }
    const int failed = ConnectUnix(fd_, path_);
    return failed == 0 ? CheckServer() : NoConversation(path_, failed);
  }

  // A service that refuses may stop to read: what it says is in its answer.
  Status Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else if (errno == EPIPE || errno == ECONNRESET) {
        return {};
      } else if (Status waited = Wait(POLLOUT); !waited) {
        return waited;
      }
    }
    return {};
  }

  Result<std::string> Receive() {
    FrameReader answer(kMostAnswer);
    std::string bytes(64 << 10, '\0');
    for (;;) {
      const ssize_t got = recv(fd_.get(), bytes.data(), bytes.size(), 0);
      if (got > 0) {
        switch (answer.Take(std::string_view(bytes).substr(0, static_cast<size_t>(got)))) {
          case FrameReader::State::kPartial:
            break;
          case FrameReader::State::kComplete:
            return std::string(answer.body());
          case FrameReader::State::kTooLong:
            return Error{Code::kCorrupt, Effect::kUnknown,
                         "what answers at " + path_ + " is no service of ours"};
        }
      } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (Status waited = Wait(POLLIN); !waited) {
          return waited.error();
        }
      } else {
        return Error{Code::kUnavailable, Effect::kUnknown,
                     "the service at " + path_ + " ended the conversation without an answer"};
      }
    }
  }

 private:
  // Whoever may write to the directory may have put a socket there.
  Status CheckServer() const {
    ucred server{};
    socklen_t size = sizeof server;
    struct stat folder {};
    if (getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 ||
        stat(FolderOrHere(path_).c_str(), &folder) != 0) {
      return NoConversation(path_, errno);
    }
    if (MayTrust(server.uid, geteuid(), folder)) {
      return {};
    }
    return Error{
        Code::kInvalid, Effect::kNone,
        "the process that answers at " + path_ + " is of user " + std::to_string(server.uid) +
            ", who is neither you nor root, and the directory is not that user's alone: it "
            "is not believed"};
  }

  Status Wait(short what) {
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - clock_.Boot());
    pollfd waited{fd_.get(), what, 0};
    if (left.count() <= 0 || poll(&waited, 1, static_cast<int>(left.count())) == 0) {
      return Error{Code::kTimeout, Effect::kUnknown,
                   "the service at " + path_ + " does not answer in time"};
    }
    return {};
  }

  const std::string& path_;
  const Clock& clock_;
  const BootTime deadline_;
  const OwnedFd fd_ = NewUnixSocket();
};

}  // namespace

Result<nlohmann::ordered_json> QueryAdmin(const std::string& path, const AdminRequest& request,
                                          milliseconds within, const Clock& clock) {
  if (const Status fits = CheckAdminSocket(path); !fits) {
    return Error{Code::kInvalid, Effect::kNone, "`" + path + "` " + fits.error().message};
  }
  const std::string body = EncodeAdminRequest(request);
  if (body.size() > kMostRequest) {
    return Error{Code::kInvalid, Effect::kNone,
                 "a request of " + std::to_string(body.size()) + " bytes; at most " +
                     std::to_string(kMostRequest) + " can be sent"};
  }
  Conversation conversation(path, within, clock);
  Status sent = conversation.Begin();
  if (sent) {
    sent = conversation.Send(Framed(body));
  }
  if (!sent) {
    return sent.error();
  }
  const Result<std::string> answer = conversation.Receive();
  if (!answer) {
    return answer.error();
  }
  return DecodeAdminAnswer(*answer);
}

}  // namespace oncemq
