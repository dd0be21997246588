// SPDX-License-Identifier: Apache-2.0
#include "reads.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

struct Fault {
  std::atomic<int> failing{0};
  std::atomic<int> left{0};
  std::atomic<int> failed{0};

  void Set(int after, int most) {
    left = after;
    failed = 0;
    failing = most;
  }
  bool Meets() {
    if (failing <= 0 || left-- > 0 || failing-- <= 0) {
      return false;
    }
    failed++;
    errno = EIO;
    return true;
  }
};

Fault of_reads;
Fault of_looks;

}  // namespace

FailingReads::FailingReads(int after, int most) {
  of_reads.Set(after, most);
}
FailingReads::~FailingReads() {
  of_reads.failing = 0;
}
int FailingReads::failed() const {
  return of_reads.failed;
}

FailingLooks::FailingLooks(int after, int most) {
  of_looks.Set(after, most);
}
FailingLooks::~FailingLooks() {
  of_looks.failing = 0;
}
int FailingLooks::failed() const {
  return of_looks.failed;
}

}  // namespace oncemq::testing

// RocksDB has its pages from the one, its logs from the other.
EXPORTED ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  return oncemq::testing::of_reads.Meets() ? -1 : REAL(pread)(file, bytes, size, at);
}
EXPORTED size_t fread_unlocked(void* bytes, size_t size, size_t count, FILE* file) {
  return oncemq::testing::of_reads.Meets() ? 0 : REAL(fread_unlocked)(bytes, size, count, file);
}
EXPORTED int stat(const char* path, struct stat* facts) {
  return oncemq::testing::of_looks.Meets() ? -1 : REAL(stat)(path, facts);
}
