// SPDX-License-Identifier: Apache-2.0
#include "fault.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

// Of each kind one, and never destroyed: calls come until the very end.
template <int kKind>
Fault& Only() {
  static auto* const fault = new Fault;
  return *fault;
}

}  // namespace

bool Fault::Meets(int error) {
  const std::lock_guard lock(mutex_);
  if (failing_ == 0 || passes_-- > 0) {
    return false;
  }
  failing_--;
  failed_++;
  errno = error;
  return true;
}

Fault& OfSyncs() {
  return Only<0>();
}
Fault& OfReads() {
  return Only<1>();
}
Fault& OfStats() {
  return Only<2>();
}
Fault& OfWrites() {
  return Only<3>();
}
Fault& OfMarks() {
  return Only<4>();
}
Fault& OfNames() {
  return Only<5>();
}

}  // namespace oncemq::testing

// RocksDB has its pages from the one, its logs from the other.
EXPORTED ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  return oncemq::testing::OfReads().Meets(EIO) ? -1 : REAL(pread)(file, bytes, size, at);
}
EXPORTED size_t fread_unlocked(void* bytes, size_t size, size_t count, FILE* file) {
  return oncemq::testing::OfReads().Meets(EIO) ? 0 : REAL(fread_unlocked)(bytes, size, count, file);
}
EXPORTED int stat(const char* path, struct stat* facts) {
  return oncemq::testing::OfStats().Meets(EIO) ? -1 : REAL(stat)(path, facts);
}
EXPORTED ssize_t write(int file, const void* bytes, size_t size) {
  const bool fails = file > STDERR_FILENO && oncemq::testing::OfWrites().Meets(ENOSPC);
  return fails ? -1 : REAL(write)(file, bytes, size);
}
EXPORTED ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return oncemq::testing::OfMarks().Meets(ENOSPC) ? -1 : REAL(pwrite)(file, bytes, size, at);
}
EXPORTED int rename(const char* from, const char* to) {
  return oncemq::testing::OfNames().Meets(EIO) ? -1 : REAL(rename)(from, to);
}
EXPORTED int link(const char* from, const char* to) {
  return oncemq::testing::OfNames().Meets(EIO) ? -1 : REAL(link)(from, to);
}
