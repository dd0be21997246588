// SPDX-License-Identifier: Apache-2.0
#include "admin_listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "oncemq/base/clock.h"
#include "oncemq/framework/admin.h"
#include "socket_name.h"
#include "socket_trust.h"
#include "unix_socket.h"

namespace oncemq {
namespace {

constexpr int kWaiting = 16;  // clients that the system keeps until they are accepted
constexpr milliseconds kLockPause{10};
constexpr int kLockAttempts = 100;  // a holder needs microseconds

Error Invalid(const std::string& path, const std::string& text) {
  return {Code::kInvalid, Effect::kNone, "the admin socket " + path + " " + text};
}

Error Failed(const std::string& path, const std::string& what, int number) {
  return Invalid(path, what + ": " + std::strerror(number));
}

Error Taken(const std::string& path) {
  return {Code::kUnavailable, Effect::kNone,
          "the admin socket " + path + " is taken: another process answers there"};
}

// Who may write to the folder may take the socket away, and put another one in its place.
Status CheckFolder(const std::string& path) {
  const std::string folder = FolderOrHere(path);
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0) {
    return Failed(path, "lies in a directory that cannot be looked at", errno);
  }
  if (OthersMayReplaceIn(facts, geteuid())) {
    return Invalid(path, "lies in a directory that others may write to (" + folder +
                             "): they could put a socket of theirs in its place; take one of your "
                             "own, `chmod go-w`");
  }
  return {};
}

enum class Found { kNothing, kDead, kTaken, kNoSocket, kUnknown };

Found ProbeSocket(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) {
    return errno == ENOENT ? Found::kNothing : Found::kUnknown;
  }
  if (!S_ISSOCK(file.st_mode)) {
    return Found::kNoSocket;
  }
  const OwnedFd fd = NewUnixSocket();
  switch (fd ? ConnectUnix(fd, path) : errno) {
    case 0:
    case EAGAIN:  // its queue is full
      return Found::kTaken;
    case ECONNREFUSED:
      return Found::kDead;
    case ENOENT:
      return Found::kNothing;
    default:
      return Found::kUnknown;
  }
}

// Why a name cannot become ours. A dead process gives its own back.
Status RefusalOf(const std::string& path, Found found) {
  switch (found) {
    case Found::kNothing:
    case Found::kDead:
      break;
    case Found::kNoSocket:
      return Invalid(path, "cannot be made: a file that is no socket has its name");
    case Found::kTaken:
      return Taken(path);
    case Found::kUnknown:
      return Failed(path, "is there and cannot be asked whether it is in use", errno);
  }
  return {};
}

// One process at a time makes or removes a name of a directory. Else two would take away what the
// other has just put there.
Result<OwnedFd> LockFolder(const std::string& path) {
  const std::string folder = FolderOrHere(path);
  OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return Failed(path, "lies in a directory that cannot be opened", errno);
  }
  for (int attempt = 0; attempt < kLockAttempts; attempt++) {
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      return fd;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Failed(path, "lies in a directory that cannot be locked", errno);
    }
    SleepFor(kLockPause);
  }
  return Error{Code::kUnavailable, Effect::kNone,
               "the admin socket " + path + " lies in a directory that another process has locked"};
}

// The file has the mode of its descriptor, so it has its rights from its first moment on.
Status MakeSocket(const OwnedFd& fd, const std::string& path, struct stat& file) {
  const mode_t mode = 0600;
  const sockaddr_un address = UnixAddress(path);
  if (fchmod(fd.get(), mode) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Failed(path, "cannot be made", errno);
  }
  Status made;
  if (lstat(path.c_str(), &file) != 0 || listen(fd.get(), kWaiting) != 0) {
    made = Failed(path, "cannot be used", errno);
  } else if (!S_ISSOCK(file.st_mode) || (file.st_mode & 07777) != mode) {
    made = Invalid(path, "cannot be kept from others there: it does not get the rights of 0600");
  }
  if (!made) {
    unlink(path.c_str());
  }
  return made;
}

}  // namespace

Status AdminListener::CheckFree(const std::string& path) {
  if (const Status fits = CheckAdminSocket(path); !fits) {
    return Invalid("`" + path + "`", fits.error().message);
  }
  // Where its folder is missing, it is made for us alone. If that fails, the next look says why.
  static_cast<void>(mkdir(FolderOrHere(path).c_str(), 0700));
  const Status safe = CheckFolder(path);
  return safe ? RefusalOf(path, ProbeSocket(path)) : safe;
}

Result<std::unique_ptr<AdminListener>> AdminListener::Open(const std::string& path) {
  if (const Status free = CheckFree(path); !free) {
    return free.error();
  }
  OwnedFd fd = NewUnixSocket(0);
  if (!fd) {
    return Failed(path, "cannot be opened", errno);
  }
  const Result<OwnedFd> lock = LockFolder(path);
  if (!lock) {
    return lock.error();
  }
  const Found found = ProbeSocket(path);
  if (const Status free = RefusalOf(path, found); !free) {
    return free.error();
  }
  if (found == Found::kDead && unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Failed(path, "of a dead process cannot be removed", errno);
  }
  struct stat file {};
  if (const Status made = MakeSocket(fd, path, file); !made) {
    return made.error();
  }
  return std::unique_ptr<AdminListener>(
      new AdminListener(std::move(fd), path, file.st_dev, file.st_ino));
}

AdminListener::~AdminListener() {
  const Result<OwnedFd> lock = LockFolder(path_);
  struct stat file {};
  // While we have it open, no other file can have our inode.
  if (lock && lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace oncemq
