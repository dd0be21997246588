// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace oncemq::testing::power {
namespace {

constexpr int kMostFiles = 1 << 16;
std::array<std::atomic<bool>, kMostFiles> watched_files;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int record = -1;
int64_t syncs = 0;
uint64_t entries = 0;

const std::string& Root() {
  static const std::string root = [] {
    const char* text = std::getenv(kPowerRoot);
    return text == nullptr ? std::string() : std::string(text);
  }();
  return root;
}

// Past the interposed functions, and out of the way of whoever closes low numbers.
int OpenRecord() {
  const char* path = std::getenv(kPowerRecord);
  const long low = path == nullptr ? -1
                                   : syscall(SYS_openat, AT_FDCWD, path,
                                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const long high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 900);
  if (low < 0 || high < 0) {
    Die("the record cannot be opened");
  }
  syscall(SYS_close, low);
  return static_cast<int>(high);
}

// 0: never.
uint64_t Last() {
  const char* text = std::getenv(kPowerLast);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

void AppendParts(std::span<iovec> parts, size_t bytes) {
  static const uint64_t last = Last();
  if (record < 0) {
    record = OpenRecord();
  }
  const long written = syscall(SYS_writev, record, parts.data(), parts.size());
  if (written != static_cast<long>(bytes)) {
    Die("the record cannot be written");
  }
  if (++entries == last) {
    syscall(SYS_kill, getpid(), SIGKILL);
  }
}

std::string FolderOf(int folder) {
  char text[PATH_MAX];
  if (folder == AT_FDCWD) {
    return getcwd(text, sizeof text) == nullptr ? std::string() : std::string(text);
  }
  const ssize_t size =
      readlink(("/proc/self/fd/" + std::to_string(folder)).c_str(), text, sizeof text);
  return size < 0 ? std::string() : std::string(text, static_cast<size_t>(size));
}

}  // namespace

Recording::Recording() {
  pthread_mutex_lock(&mutex);
}

Recording::~Recording() {
  pthread_mutex_unlock(&mutex);
}

bool Active() {
  return !Root().empty();
}

void Die(const char* what) {
  const std::string line = std::string("power: ") + what + "\n";
  syscall(SYS_write, STDERR_FILENO, line.data(), line.size());
  std::abort();
}

bool Watched(int fd) {
  return fd >= 0 && fd < kMostFiles && watched_files[static_cast<size_t>(fd)];
}

void Watch(int fd, bool watched) {
  if (fd >= kMostFiles) {
    Die("too many files");
  }
  if (fd >= 0) {
    watched_files[static_cast<size_t>(fd)] = watched;
  }
}

bool Inside(int folder, const char* path, std::string* relative) {
  if (!Active() || path == nullptr || *path == '\0') {
    return false;
  }
  const int error = errno;
  std::filesystem::path whole(path);
  if (!whole.is_absolute()) {
    whole = std::filesystem::path(FolderOf(folder)) / whole;
  }
  std::string text = whole.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') {
    text.pop_back();
  }
  errno = error;
  const std::string& root = Root();
  if (!text.starts_with(root) || (text.size() > root.size() && text[root.size()] != '/')) {
    return false;
  }
  *relative = text.size() > root.size() ? text.substr(root.size() + 1) : std::string();
  return true;
}

void Append(PowerOp op, int fd, int64_t a, int64_t b, std::string_view first,
            std::string_view second) {
  const int error = errno;
  PowerHead head{.op = op,
                 .fd = fd,
                 .first = static_cast<uint32_t>(first.size()),
                 .second = second.size(),
                 .a = a,
                 .b = b};
  std::array<iovec, 3> parts{{{&head, sizeof head},
                              {const_cast<char*>(first.data()), first.size()},
                              {const_cast<char*>(second.data()), second.size()}}};
  AppendParts(parts, sizeof head + first.size() + second.size());
  errno = error;
}

void AppendWrite(int fd, int64_t offset, std::span<const iovec> parts, size_t written) {
  constexpr size_t kMostParts = 64;
  if (parts.size() > kMostParts) {
    Die("a write of too many parts");
  }
  const int error = errno;
  PowerHead head{.op = PowerOp::kWrite, .fd = fd, .second = written, .a = offset};
  std::array<iovec, kMostParts + 1> all;
  all[0] = {&head, sizeof head};
  size_t left = written;
  for (size_t i = 0; i < parts.size(); i++) {
    all[i + 1] = {parts[i].iov_base, std::min(left, parts[i].iov_len)};
    left -= all[i + 1].iov_len;
  }
  AppendParts({all.data(), parts.size() + 1}, sizeof head + written);
  errno = error;
}

int64_t NextSync() {
  return syncs++;
}

}  // namespace oncemq::testing::power
