// SPDX-License-Identifier: Apache-2.0
#include "small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "units.h"

namespace oncemq {
namespace {

// Closes on every way out.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : fd_(open(path.c_str(), flags)) {}
  ~OpenFile() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

Error FromErrno() {
  return {errno == ENOENT ? Code::kNotFound : Code::kInvalid, Effect::kNone, std::strerror(errno)};
}

Status CheckOwnerOnly(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    return FromErrno();
  }
  if (!S_ISREG(info.st_mode)) {
    return Invalid("it is not an ordinary file");
  }
  if ((info.st_mode & 077) != 0) {
    return Invalid("others may read or change it; run `chmod 600` on it");
  }
  return {};
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, size_t most, Readers readers) {
  const bool owner_only = readers == Readers::kOwnerOnly;
  // A pipe in place of a secret must be refused, not waited for.
  const OpenFile file(path, O_RDONLY | O_CLOEXEC | (owner_only ? O_NONBLOCK : 0));
  if (file.fd() < 0) {
    return FromErrno();
  }
  if (owner_only) {
    if (const Status status = CheckOwnerOnly(file.fd()); !status) {
      return status.error();
    }
  }
  std::string content;
  char part[4096];
  for (;;) {
    const ssize_t got = read(file.fd(), part, sizeof part);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return FromErrno();
    }
    if (got == 0) {
      return content;
    }
    content.append(part, static_cast<size_t>(got));
    if (content.size() > most) {
      return Invalid("it is larger than " + FormatByteCount(most));
    }
  }
}

}  // namespace oncemq
