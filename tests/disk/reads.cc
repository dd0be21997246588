// SPDX-License-Identifier: Apache-2.0
#include "reads.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

std::atomic<bool> failing{false};
std::atomic<int> left{0};
std::atomic<int> failures{0};

bool Fails() {
  if (!failing || left-- > 0) {
    return false;
  }
  failures++;
  errno = EIO;
  return true;
}

}  // namespace

FailingReads::FailingReads(int after) {
  left = after;
  failures = 0;
  failing = true;
}

FailingReads::~FailingReads() {
  failing = false;
}

int FailingReads::failed() const {
  return failures;
}

}  // namespace oncemq::testing

// RocksDB has its pages from the one, its logs from the other.
EXPORTED ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  return oncemq::testing::Fails() ? -1 : REAL(pread)(file, bytes, size, at);
}
EXPORTED size_t fread_unlocked(void* bytes, size_t size, size_t count, FILE* file) {
  return oncemq::testing::Fails() ? 0 : REAL(fread_unlocked)(bytes, size, count, file);
}
