// SPDX-License-Identifier: Apache-2.0
// What would escape the record ends the process: a mapping that is written to, a second number of
// an open file, a stream with a buffer of its own, copies inside the kernel. Whoever needs one of
// these in a test teaches the record to tell it.
//
// Thread safety: as the functions themselves.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "interpose.h"
#include "watch.h"

using namespace oncemq::testing::power;

namespace {

void Refuse(int fd, const char* what) {
  if (Watched(fd)) {
    Die(what);
  }
}

void RefuseName(const char* path, const char* what) {
  std::string relative;
  if (Inside(AT_FDCWD, path, &relative)) {
    Die(what);
  }
}

}  // namespace

EXPORTED void* mmap(void* address, size_t size, int protection, int flags, int fd,
                    off_t offset) noexcept {
  constexpr int kKinds = MAP_SHARED | MAP_PRIVATE;  // MAP_SHARED_VALIDATE has both bits
  if ((protection & PROT_WRITE) != 0 && (flags & kKinds) != MAP_PRIVATE) {
    Refuse(fd, "a mapping that is written to");
  }
  return REAL(mmap)(address, size, protection, flags, fd, offset);
}
EXPORTED int dup(int fd) noexcept {
  Refuse(fd, "dup()");
  return REAL(dup)(fd);
}
EXPORTED int dup2(int fd, int other) noexcept {
  Refuse(fd, "dup2()");
  Refuse(other, "dup2()");
  return REAL(dup2)(fd, other);
}
EXPORTED int dup3(int fd, int other, int flags) noexcept {
  Refuse(fd, "dup3()");
  Refuse(other, "dup3()");
  return REAL(dup3)(fd, other, flags);
}
EXPORTED int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    Refuse(fd, "fcntl(F_DUPFD)");
  }
  return REAL(fcntl)(fd, command, argument);
}
EXPORTED int truncate(const char* path, off_t size) noexcept {
  RefuseName(path, "truncate()");
  return REAL(truncate)(path, size);
}
EXPORTED ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  Refuse(fd, "pwritev2()");
  return REAL(pwritev2)(fd, parts, count, offset, flags);
}
EXPORTED ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  Refuse(to, "sendfile()");
  return REAL(sendfile)(to, from, offset, size);
}
EXPORTED ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
                                 unsigned flags) {
  Refuse(to, "copy_file_range()");
  return REAL(copy_file_range)(from, from_at, to, to_at, size, flags);
}
EXPORTED FILE* fopen(const char* path, const char* mode) {
  if (std::strcspn(mode, "wa+") < std::strlen(mode)) {
    RefuseName(path, "a stream that is written to");
  }
  return REAL(fopen)(path, mode);
}
EXPORTED int symlink(const char* from, const char* to) noexcept {
  RefuseName(to, "symlink()");
  return REAL(symlink)(from, to);
}

// The same with offsets of 64 bits, which off_t has here.
static_assert(sizeof(off_t) == 8);
EXPORTED FILE* fopen64(const char*, const char*) SAME_AS(fopen);
EXPORTED ssize_t pwritev64v2(int, const iovec*, int, off64_t, int) SAME_AS(pwritev2);
EXPORTED int truncate64(const char*, off64_t) noexcept SAME_AS(truncate);
EXPORTED void* mmap64(void*, size_t, int, int, int, off64_t) noexcept SAME_AS(mmap);
EXPORTED int fcntl64(int, int, ...) SAME_AS(fcntl);
EXPORTED ssize_t sendfile64(int, int, off64_t*, size_t) noexcept SAME_AS(sendfile);
