// SPDX-License-Identifier: Apache-2.0
// The C library's functions that change files, in front of the library's own: they do what those
// do, and keep a record for files under one directory (watch.h). Loaded by LD_PRELOAD.
//
// A sync is two entries, with the real one between them, so that what other threads write meanwhile
// is not taken for synced. sync_file_range() promises nothing for a power loss and leaves no entry.
// What would escape the record ends the process (refused.cc).
//
// Thread safety: as the functions themselves.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <stdio_ext.h>
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "interpose.h"
#include "watch.h"

using oncemq::testing::PowerOp;
using namespace oncemq::testing::power;

namespace {

int Open(int folder, const char* path, int flags, mode_t mode) {
  std::string relative;
  if (!Inside(folder, path, &relative)) {
    const int fd = REAL(openat)(folder, path, flags, mode);
    Watch(fd, false);
    return fd;
  }
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    Die("a file without a name");
  }
  const Recording recording;
  const int fd = REAL(openat)(folder, path, flags, mode);
  if (fd >= 0) {
    Watch(fd, true);
    Append(PowerOp::kOpen, fd, flags, 0, relative);
  }
  return fd;
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

// A change of names; `change` makes it.
template <class Change>
int Rename(PowerOp op, int from_folder, const char* from, int to_folder, const char* to,
           const Change& change) {
  std::string source;
  std::string target;
  const bool source_inside = Inside(from_folder, from, &source);
  const bool target_inside = to != nullptr && Inside(to_folder, to, &target);
  if (to != nullptr && source_inside != target_inside) {
    Die("a name that crosses the border of the directory");
  }
  if (!source_inside) {
    return change();
  }
  const Recording recording;
  const int result = change();
  if (result == 0) {
    Append(op, -1, 0, 0, source, target);
  }
  return result;
}

template <class Change>
int OneName(PowerOp op, int folder, const char* path, const Change& change) {
  return Rename(op, folder, path, AT_FDCWD, nullptr, change);
}

template <class Sync>
int SyncFile(int fd, const Sync& sync) {
  if (!Watched(fd)) {
    return sync();
  }
  int64_t number = 0;
  {
    const Recording recording;
    number = NextSync();
    Append(PowerOp::kSyncBegin, fd, number);
  }
  const int result = sync();
  if (result == 0) {
    const Recording recording;
    Append(PowerOp::kSyncEnd, fd, number);
  }
  return result;
}

// `offset` below 0: at the file's own position, which has moved by then.
ssize_t WriteParts(int fd, const iovec* parts, int count, off_t offset) {
  const auto change = [&] {
    return offset < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev)(fd, parts, count, offset);
  };
  if (!Watched(fd)) {
    return change();
  }
  const Recording recording;
  const ssize_t written = change();
  if (written > 0) {
    const off_t at = offset < 0 ? lseek(fd, 0, SEEK_CUR) - written : offset;
    AppendWrite(fd, at, {parts, static_cast<size_t>(count)}, static_cast<size_t>(written));
  }
  return written;
}

int Allocate(int fd, int mode, off_t offset, off_t length, int result) {
  if (result != 0) {
    return result;
  }
  struct stat facts {};
  fstat(fd, &facts);
  if (mode == 0) {
    Append(PowerOp::kExtend, fd, offset + length);
  } else if (mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) {
    const off_t end = std::min<off_t>(offset + length, facts.st_size);
    if (end > offset) {
      Append(PowerOp::kZero, fd, offset, end - offset);
    }
  } else if (mode != FALLOC_FL_KEEP_SIZE) {  // that one only reserves space
    Die("fallocate() in a mode that is not known");
  }
  return result;
}

}  // namespace

// Files ------------------------------------------------------------------------------------------

EXPORTED int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}
EXPORTED int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open(folder, path, flags, mode);
}
EXPORTED int creat(const char* path, mode_t mode) {
  return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
EXPORTED int __open_2(const char* path, int flags) {
  return Open(AT_FDCWD, path, flags, 0);
}
EXPORTED int __openat_2(int folder, const char* path, int flags) {
  return Open(folder, path, flags, 0);
}
EXPORTED int close(int fd) {
  if (!Watched(fd)) {
    return REAL(close)(fd);
  }
  const Recording recording;
  Watch(fd, false);
  Append(PowerOp::kClose, fd);
  return REAL(close)(fd);
}
EXPORTED int fclose(FILE* file) {
  const int fd = fileno(file);
  if (!Watched(fd)) {
    return REAL(fclose)(file);
  }
  if (__fpending(file) != 0) {
    Die("a stream that is written to");
  }
  const Recording recording;
  Watch(fd, false);
  Append(PowerOp::kClose, fd);
  return REAL(fclose)(file);
}

EXPORTED ssize_t write(int fd, const void* bytes, size_t size) {
  if (fd == STDOUT_FILENO && Active()) {
    const Recording recording;
    Append(PowerOp::kNote, fd, 0, 0, {}, {static_cast<const char*>(bytes), size});
    return REAL(write)(fd, bytes, size);
  }
  if (!Watched(fd)) {
    return REAL(write)(fd, bytes, size);
  }
  const iovec part{const_cast<void*>(bytes), size};
  return WriteParts(fd, &part, 1, -1);
}
EXPORTED ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  if (!Watched(fd)) {
    return REAL(pwrite)(fd, bytes, size, offset);
  }
  const iovec part{const_cast<void*>(bytes), size};
  return WriteParts(fd, &part, 1, offset);
}
EXPORTED ssize_t writev(int fd, const iovec* parts, int count) {
  return WriteParts(fd, parts, count, -1);
}
EXPORTED ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return WriteParts(fd, parts, count, offset);
}
EXPORTED int ftruncate(int fd, off_t size) noexcept {
  if (!Watched(fd)) {
    return REAL(ftruncate)(fd, size);
  }
  const Recording recording;
  const int result = REAL(ftruncate)(fd, size);
  if (result == 0) {
    Append(PowerOp::kTruncate, fd, size);
  }
  return result;
}
EXPORTED int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!Watched(fd)) {
    return REAL(fallocate)(fd, mode, offset, length);
  }
  const Recording recording;
  return Allocate(fd, mode, offset, length, REAL(fallocate)(fd, mode, offset, length));
}
EXPORTED int posix_fallocate(int fd, off_t offset, off_t length) {
  if (!Watched(fd)) {
    return REAL(posix_fallocate)(fd, offset, length);
  }
  const Recording recording;
  return Allocate(fd, 0, offset, length, REAL(posix_fallocate)(fd, offset, length));
}
EXPORTED int fsync(int fd) {
  return SyncFile(fd, [&] { return REAL(fsync)(fd); });
}
EXPORTED int fdatasync(int fd) {
  return SyncFile(fd, [&] { return REAL(fdatasync)(fd); });
}

// Names ------------------------------------------------------------------------------------------

EXPORTED int rename(const char* from, const char* to) noexcept {
  return Rename(PowerOp::kRename, AT_FDCWD, from, AT_FDCWD, to,
                [&] { return REAL(rename)(from, to); });
}
EXPORTED int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return Rename(PowerOp::kRename, from_folder, from, to_folder, to,
                [&] { return REAL(renameat)(from_folder, from, to_folder, to); });
}
EXPORTED int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                       unsigned flags) noexcept {
  return Rename(PowerOp::kRename, from_folder, from, to_folder, to, [&] {
    if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0) {
      Die("renameat2() with flags that are not known");
    }
    return REAL(renameat2)(from_folder, from, to_folder, to, flags);
  });
}
EXPORTED int link(const char* from, const char* to) noexcept {
  return Rename(PowerOp::kLink, AT_FDCWD, from, AT_FDCWD, to, [&] { return REAL(link)(from, to); });
}
EXPORTED int linkat(int from_folder, const char* from, int to_folder, const char* to,
                    int flags) noexcept {
  return Rename(PowerOp::kLink, from_folder, from, to_folder, to,
                [&] { return REAL(linkat)(from_folder, from, to_folder, to, flags); });
}
EXPORTED int unlink(const char* path) noexcept {
  return OneName(PowerOp::kUnlink, AT_FDCWD, path, [&] { return REAL(unlink)(path); });
}
EXPORTED int unlinkat(int folder, const char* path, int flags) noexcept {
  const PowerOp op = (flags & AT_REMOVEDIR) != 0 ? PowerOp::kRmdir : PowerOp::kUnlink;
  return OneName(op, folder, path, [&] { return REAL(unlinkat)(folder, path, flags); });
}
EXPORTED int remove(const char* path) noexcept {
  struct stat facts {};
  const bool folder = lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
  return folder ? rmdir(path) : unlink(path);
}
EXPORTED int mkdir(const char* path, mode_t mode) noexcept {
  return OneName(PowerOp::kMkdir, AT_FDCWD, path, [&] { return REAL(mkdir)(path, mode); });
}
EXPORTED int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return OneName(PowerOp::kMkdir, folder, path, [&] { return REAL(mkdirat)(folder, path, mode); });
}
EXPORTED int rmdir(const char* path) noexcept {
  return OneName(PowerOp::kRmdir, AT_FDCWD, path, [&] { return REAL(rmdir)(path); });
}

// The same with offsets of 64 bits, which off_t has here.
static_assert(sizeof(off_t) == 8);
EXPORTED int open64(const char*, int, ...) SAME_AS(open);
EXPORTED int openat64(int, const char*, int, ...) SAME_AS(openat);
EXPORTED int __open64_2(const char*, int) SAME_AS(__open_2);
EXPORTED int __openat64_2(int, const char*, int) SAME_AS(__openat_2);
EXPORTED int creat64(const char*, mode_t) SAME_AS(creat);
EXPORTED ssize_t pwrite64(int, const void*, size_t, off64_t) SAME_AS(pwrite);
EXPORTED ssize_t pwritev64(int, const iovec*, int, off64_t) SAME_AS(pwritev);
EXPORTED int ftruncate64(int, off64_t) noexcept SAME_AS(ftruncate);
EXPORTED int fallocate64(int, int, off64_t, off64_t) SAME_AS(fallocate);
EXPORTED int posix_fallocate64(int, off64_t, off64_t) SAME_AS(posix_fallocate);
